import styles from "./label-list.module.css";

/** Labels of a record as `name=value`. */
export const LabelList = ({ of }: { of: Readonly<Record<string, string>> }) => (
  <span className={styles.labels}>
    {Object.entries(of).map(([name, value]) => (
      <code key={name}>{`${name}=${value}`}</code>
    ))}
  </span>
);
