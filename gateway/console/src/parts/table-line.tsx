import { ChevronDown, ChevronRight } from "lucide-react";
import { memo, type ReactNode } from "react";
import { isQuiet } from "../rules/telling-columns.ts";
import type { Column } from "./column.ts";
import styles from "./table.module.css";

type LineProps = {
  id: string;
  index: number;
  /** Its position below the headings before it. */
  line: number;
  row: unknown;
  columns: readonly Column<unknown>[];
  isChosen?: boolean;
  /** `isRange` for all rows from the one before to this one. */
  toggle?(id: string, isRange: boolean): void;
  /** Takes the height of a card, which depends on its texts. */
  measure?: (row: HTMLElement | null) => void;
};

const partOf = ({ as, isMinor }: Column<unknown>, at: number) =>
  at === 0 ? "title" : (as ?? (isMinor ? "fact" : "plain"));

/** One row; rendered again only when the row or its columns change, not for a scroll or the list's number. */
export const Line = memo(({ id, index, line, row, columns, isChosen, toggle, measure }: LineProps) => (
  <tr
    ref={measure}
    data-key={id}
    data-index={index}
    data-line={line}
    aria-rowindex={index + 2}
    className={isChosen ? styles.chosen : undefined}
  >
    {toggle ? (
      <td className={styles.check}>
        <input
          type="checkbox"
          aria-label={`Select row ${index + 1}`}
          checked={isChosen}
          onChange={({ nativeEvent }) => toggle(id, (nativeEvent as MouseEvent).shiftKey)}
        />
      </td>
    ) : null}
    {columns.map((column, at) => (
      <td
        key={column.id}
        className={column.isEnd ? styles.end : undefined}
        data-as={partOf(column, at)}
        data-quiet={isQuiet(column, row) || undefined}
        data-title={column.title}
      >
        {column.cell(row)}
      </td>
    ))}
  </tr>
));

type FoldedTitleProps = { title: string; count: number; isOpen: boolean; onTurn(): void };

/** The heading of rows that are shown on request, with their number. */
export function FoldedTitle({ title, count, isOpen, onTurn }: FoldedTitleProps) {
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <button type="button" className={styles.fold} aria-expanded={isOpen} onClick={onTurn}>
      <Chevron size={15} aria-hidden /> {title} <span className="soft number">{count.toLocaleString()}</span>
    </button>
  );
}

type HeadingProps = {
  line: number;
  columns: number;
  /** Takes its height. */
  measure(row: HTMLElement | null): void;
  /** Whether they repeat the row above. */
  isRun?: true | undefined;
  children: ReactNode;
};

/** What the rows below have in common. */
export const Heading = ({ line, columns, measure, isRun, children }: HeadingProps) => (
  <tr ref={measure} data-line={line} data-run={isRun} className={styles.group}>
    <th scope="rowgroup" colSpan={columns}>
      {children}
    </th>
  </tr>
);

/** The height of lines that are not in the DOM. */
export const Space = ({ height, columns }: { height: number; columns: number }) => (
  <tr className={styles.space} style={{ height }}>
    <td colSpan={columns} />
  </tr>
);
