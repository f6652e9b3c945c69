import styles from "./list-head.module.css";

/** What a button says. In the head of a list on a phone, where there is room for its first word, that is in sight. */
export function ButtonLabel({ of }: { of: string }) {
  const [first = "", ...rest] = of.split(" ");
  return (
    <span>
      {first}
      {rest.length > 0 ? <span className={styles.rest}> {rest.join(" ")}</span> : null}
    </span>
  );
}
