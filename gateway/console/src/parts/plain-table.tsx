import type { ReactNode } from "react";
import styles from "./plain-table.module.css";

type PlainTableProps = {
  columns: readonly string[];
  /** Whether a last column holds what can be done with a row. */
  hasActions?: true;
  /** Its rows. */
  children: ReactNode;
};

/** A table of few rows, all of them in the page; long lists are a Table. */
export const PlainTable = ({ columns, hasActions, children }: PlainTableProps) => (
  <div className={styles.scroller}>
    <table className={styles.table}>
      <thead>
        <tr>
          {columns.map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
          {hasActions ? (
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          ) : null}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);
