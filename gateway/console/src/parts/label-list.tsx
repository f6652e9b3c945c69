import styles from "./label-list.module.css";

/** Labels of a record as `name=value`; nothing without one. */
export function LabelList({ of }: { of: Readonly<Record<string, string>> }) {
  const labels = Object.entries(of);
  if (labels.length === 0) return null;
  return (
    <span className={styles.labels}>
      {labels.map(([name, value]) => (
        <code key={name}>{`${name}=${value}`}</code>
      ))}
    </span>
  );
}
