import styles from "./spans.module.css";

type SpansProps = {
  label: string;
  of: readonly { value: string; title: string }[];
  chosen: string;
  choose(value: string): void;
};

/** A choice of few values, all of them in sight. */
export const Spans = ({ label, of: choices, chosen, choose }: SpansProps) => (
  <fieldset className={styles.spans} data-size="small">
    <legend className="visually-hidden">{label}</legend>
    {choices.map(({ value, title }) => (
      <button
        key={value}
        type="button"
        data-weight="quiet"
        aria-pressed={value === chosen}
        onClick={() => choose(value)}
      >
        {title}
      </button>
    ))}
  </fieldset>
);
