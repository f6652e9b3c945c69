import type { CSSProperties, ReactNode } from "react";
import styles from "./plain-table.module.css";

type PlainTableProps = {
  columns: readonly string[];
  /** Whether a last column holds what can be done with a row. */
  hasActions?: true;
  /** Whether facts follow: their values stand below its own. */
  isAboveFacts?: true;
  /** On a phone the values of a row stand beside one another without their titles: each says what it is. */
  isBrief?: true;
  /** Its rows. */
  children: ReactNode;
};

/** The titles of the columns as texts of the styles: on a phone each value has its title beside it. */
const titlesOf = (columns: readonly string[]) =>
  Object.fromEntries(columns.map((title, at) => [`--title-${at + 1}`, JSON.stringify(title)])) as CSSProperties;

/** A table of few rows, all of them in the page; long lists are a Table. */
export const PlainTable = ({ columns, hasActions, isAboveFacts, isBrief, children }: PlainTableProps) => (
  <div className={styles.scroller}>
    <table
      className={styles.table}
      data-is-above-facts={isAboveFacts}
      data-is-brief={isBrief}
      style={titlesOf(columns)}
    >
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
