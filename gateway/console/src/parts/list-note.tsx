import styles from "./list-head.module.css";

/** What a list is about, above its rows, where its words are not everybody's. */
export const ListNote = ({ children }: { children: string }) => <p className={styles.note}>{children}</p>;
