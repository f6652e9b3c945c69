import { type KeyboardEvent, type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { leastWidth } from "../rules/column-choice.ts";
import { toggled } from "../rules/selection.ts";
import { type Grouping, linesOf, type TableLine } from "../rules/table-lines.ts";
import { type Column, haveOwnHeights, type Order, type Sizing, styleOf } from "./column.ts";
import { useShortcut } from "./shortcuts.ts";
import styles from "./table.module.css";
import { TableHead } from "./table-head.tsx";
import { FoldedTitle, Heading, Line, Space } from "./table-line.tsx";
import { useVirtualRows } from "./use-virtual-rows.ts";

type TableProps<Row> = Grouping<Row> & {
  /** Name of the rows, for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf(row: Row): string;
  /** Of all rows there are; null when that is not known. */
  total: number | null;
  hasMore: boolean;
  isLoadingMore: boolean;
  isStale?: boolean;
  loadMore(): void;
  selection?: Selection;
  order?: Order;
  sizing?: Sizing;
};

/** Rows that are selected, by their keys. */
export type Selection = { chosen: ReadonlySet<string>; change(chosen: ReadonlySet<string>): void };

const leastOf = <Row,>({ columns, sizing }: Pick<TableProps<Row>, "columns" | "sizing">) =>
  styleOf("--least-width", leastWidth(columns, sizing?.widths ?? {}));

/**
 * Rows of any number: only visible ones are in the DOM, the next page is fetched before the end is reached. The first
 * cell has the row's link.
 */
export function Table<Row>(props: TableProps<Row>) {
  const {
    label,
    columns,
    rows,
    keyOf,
    total,
    hasMore,
    isLoadingMore,
    isStale = false,
    loadMore,
    selection,
    order,
    sizing,
  } = props;
  const scroller = useRef<HTMLElement>(null);
  const { lines, opened, turn } = useLines(props);
  const { virtual, isCard } = useVirtualRows(lines, scroller);
  const items = virtual.getVirtualItems();
  const last = lines[items.at(-1)?.index ?? 0]?.at ?? 0;
  useEffect(() => {
    if (hasMore && !isLoadingMore && last >= rows.length - 20) loadMore();
  }, [hasMore, isLoadingMore, last, rows.length, loadMore]);

  const onKeyDown = useRowFocus(scroller);
  const toggle = useToggle(rows, keyOf, selection);
  useShortcut("x", () => {
    const key = document.activeElement?.closest<HTMLElement>("tr[data-key]")?.dataset.key;
    if (key !== undefined) toggle(key);
  });
  const width = columns.length + (selection ? 1 : 0);
  const margin = virtual.options.scrollMargin;
  const above = (items[0]?.start ?? margin) - margin;
  const below = virtual.getTotalSize() - ((items.at(-1)?.end ?? margin) - margin);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keyboard
    <section ref={scroller} className={styles.scroller} aria-label={label} tabIndex={0} aria-busy={isStale}>
      <table className={styles.table} style={leastOf(props)} aria-rowcount={total ?? -1} onKeyDown={onKeyDown}>
        <TableHead
          columns={columns}
          order={order}
          sizing={sizing}
          chooser={selection ? chooserOf(rows, keyOf, selection) : null}
        />
        <tbody>
          {above > 0 ? <Space height={above} columns={width} /> : null}
          {items.map(({ index: line }) => {
            const { heading, folded, at, key: lineKey, isRun } = lines[line] as TableLine;
            if (heading !== null) {
              const fold = { isOpen: opened.has(lineKey), onTurn: () => turn(lineKey) };
              return (
                <Heading key={lineKey} line={line} columns={width} measure={virtual.measureElement} isRun={isRun}>
                  {folded === null ? heading : <FoldedTitle title={heading} count={folded} {...fold} />}
                </Heading>
              );
            }
            const row = rows[at] as Row;
            const key = keyOf(row);
            return (
              <Line
                key={key}
                id={key}
                index={at}
                line={line}
                row={row}
                columns={columns as readonly Column<unknown>[]}
                {...(isCard || haveOwnHeights(columns) ? { measure: virtual.measureElement } : {})}
                {...(selection ? { isChosen: selection.chosen.has(key), toggle } : {})}
              />
            );
          })}
          {below > 0 ? <Space height={below} columns={width} /> : null}
        </tbody>
      </table>
      <p role="status" className={isLoadingMore ? styles.more : "visually-hidden"}>
        {isLoadingMore ? "Loading more …" : hasMore ? "" : `All ${rows.length} are loaded`}
      </p>
    </section>
  );
}

/** The state of the box that selects all rows, and what a press does. */
function chooserOf<Row>(rows: readonly Row[], keyOf: (row: Row) => string, { chosen, change }: Selection) {
  const count = rows.filter((row) => chosen.has(keyOf(row))).length;
  const areAllChosen = rows.length > 0 && count === rows.length;
  const choose = () => change(new Set(areAllChosen ? [] : rows.map(keyOf)));
  return { areAllChosen, areSomeChosen: count > 0 && !areAllChosen, choose };
}

/**
 * Selects a row or takes it out; with `isRange` all rows from the one before to it. One function for all rows, which
 * never changes, so that no row is rendered again because of it.
 */
function useToggle<Row>(rows: readonly Row[], keyOf: (row: Row) => string, selection: Selection | undefined) {
  const before = useRef<string | null>(null);
  const toggle = (key: string, isRange: boolean) => {
    if (!selection) return;
    const keys = rows.map(keyOf);
    selection.change(toggled({ keys, chosen: selection.chosen, key, from: isRange ? before.current : null }));
    before.current = key;
  };
  const latest = useRef(toggle);
  latest.current = toggle;
  return useCallback((key: string, isRange = false) => latest.current(key, isRange), []);
}

/** The lines of the rows, those that were opened, and what opens or closes one. */
function useLines<Row>({ rows, keyOf, groupOf, quietGroup, runOf }: TableProps<Row>) {
  const [opened, open] = useState<ReadonlySet<string>>(new Set());
  const lines = useMemo(
    () => linesOf(rows, keyOf, { groupOf, quietGroup, runOf }, opened),
    [rows, keyOf, groupOf, quietGroup, runOf, opened],
  );
  const turn = (key: string) => open(toggled({ keys: [key], chosen: opened, key, from: null }));
  return { lines, opened, turn };
}

/** Moves the focus from row to row by j and k, and by the arrow keys, which the handler returned here takes. */
function useRowFocus(scroller: RefObject<HTMLElement | null>): (event: KeyboardEvent) => void {
  const focusRow = (by: 1 | -1) => {
    const links = [...(scroller.current?.querySelectorAll<HTMLElement>("tbody tr[data-index] a") ?? [])];
    const at = links.findIndex((link) => document.activeElement?.isSameNode(link));
    links[at < 0 ? 0 : at + by]?.focus();
  };
  useShortcut("j", () => focusRow(1));
  useShortcut("k", () => focusRow(-1));
  return (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    focusRow(event.key === "ArrowDown" ? 1 : -1);
  };
}
