import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronDown, ChevronRight, ChevronsUpDown, ChevronUp } from "lucide-react";
import {
  type CSSProperties,
  type KeyboardEvent,
  memo,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { type ColumnWidths, leastWidth, narrowest, widest, widthWithin } from "../rules/column-choice.ts";
import { toggled } from "../rules/selection.ts";
import { nextSort, sortedBy } from "../rules/sort.ts";
import { linesOf, type TableLine } from "../rules/table-lines.ts";
import { isQuiet } from "../rules/telling-columns.ts";
import { useShortcut } from "./shortcuts.ts";
import styles from "./table.module.css";
import { chosenDensity } from "./theme.ts";

export type Column<Row> = {
  id: string;
  title: string;
  cell(row: Row): ReactNode;
  /** CSS width; the widest takes the remaining width. */
  width?: string;
  /** On a phone, a value that needs the column's title beside it. */
  isMinor?: true;
  /** Left out on screens that are neither wide nor a phone's, unless the user chose the columns. */
  isExtra?: true;
  /**
   * Whether it says nothing worth a column in this row: the harmless value that most have. It is left out while that
   * holds of all rows, unless the user chose the columns.
   */
  isUsual?(row: Row): boolean;
  /** Whether a row has the value that is expected: it stays, in soft letters, so that the others stand out. */
  isQuiet?(row: Row): boolean;
  /** Aligned at the end of the cell: numbers and times. */
  isEnd?: true;
  /** What it is in the card that a row becomes on a phone; without it, a fact where it is minor, else plain. */
  as?: CardPart;
  /** It may have a second line, in small letters: its rows are as high as their texts. */
  hasNote?: true;
  /** The API's name for an order by this column. */
  sort?: string;
  /** The API knows this order in one direction alone. */
  isOneWay?: true;
  /** The API's names of what it shows, in an export. */
  exported?: readonly string[];
};

/**
 * Parts of a phone's card: beside the name `state`, `beside` and `menu`; in the second line `plain` and, at its end,
 * `end`; below the `cause` of a failure, what a state means, or a `bar`, as wide as the card; at last in small letters
 * `note`, and `fact` with its title, and at the card's end the `next` step. `none` is left to the record's page.
 */
type CardPart = "state" | "beside" | "menu" | "plain" | "end" | "cause" | "bar" | "note" | "fact" | "next" | "none";

type TableProps<Row> = {
  /** Name of the rows, for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf(row: Row): string;
  /** The heading under which a row stands with its neighbours; null for none. */
  groupOf?(row: Row): string | null;
  /** The heading whose rows come last, and are shown on request. */
  quietGroup?: string | undefined;
  /** Of all rows there are; null when that is not known. */
  total: number | null;
  hasMore: boolean;
  isLoadingMore: boolean;
  isStale?: boolean;
  loadMore(): void;
  selection?: Selection;
  /** The order in force, as the API names it, and another one; undefined is the list's own. */
  order?: { inForce: string | undefined; change(sort: string | undefined): void };
  /** The chosen widths, and how to change them; an empty record means the default widths. */
  sizing?: { widths: ColumnWidths; change(widths: ColumnWidths): void };
};

/** Rows that are selected, by their keys. */
export type Selection = { chosen: ReadonlySet<string>; change(chosen: ReadonlySet<string>): void };

/**
 * Heights of a row, in pixels, as the styles have them: by the density, and of the cards of a phone, which are measured
 * once they are in the page, and the gap between those.
 */
const rowPx = { usual: 41, compact: 32, card: 92 };
const cardGapPx = 8;
/** Height of a heading between rows. */
const groupPx = 37;

/** Whether rows are as high as their texts. */
const haveOwnHeights = (columns: readonly Pick<Column<never>, "as" | "hasNote">[]): boolean =>
  columns.some(({ as, hasNote }) => as === "cause" || hasNote);

/** The height of a row now. */
function useRowPx(): number {
  const narrow = useMemo(() => matchMedia("(width < 48rem)"), []);
  return useSyncExternalStore(
    (listener) => {
      narrow.addEventListener("change", listener);
      addEventListener("resize", listener);
      return () => {
        narrow.removeEventListener("change", listener);
        removeEventListener("resize", listener);
      };
    },
    () => (narrow.matches ? rowPx.card : rowPx[chosenDensity()]),
  );
}
/** As a custom property, which narrow screens do not use. */
const styleOf = (name: "--column-width" | "--least-width", width: string | undefined): CSSProperties | undefined =>
  width ? Object.fromEntries([[name, width]]) : undefined;
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
  const { lines, fold } = useLines(props);
  const { virtual, isCard } = useVirtualRows(lines, scroller);
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && !isLoadingMore && last >= lines.length - 20) loadMore();
  }, [hasMore, isLoadingMore, last, lines.length, loadMore]);

  const onKeyDown = useRowFocus(scroller);
  const toggle = useToggle(rows, keyOf, selection);
  useShortcut("x", () => {
    const key = document.activeElement?.closest<HTMLElement>("tr[data-key]")?.dataset.key;
    if (key !== undefined) toggle(key);
  });
  const chosenCount = selection ? rows.filter((row) => selection.chosen.has(keyOf(row))).length : 0;
  const areAllChosen = rows.length > 0 && chosenCount === rows.length;
  const areSomeChosen = chosenCount > 0 && !areAllChosen;
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
          chooser={
            selection
              ? {
                  areAllChosen,
                  areSomeChosen,
                  choose: () => selection.change(new Set(areAllChosen ? [] : rows.map(keyOf))),
                }
              : null
          }
        />
        <tbody>
          {above > 0 ? <Space height={above} columns={width} /> : null}
          {items.map(({ index: line }) => {
            const { heading, folded, at, key: lineKey } = lines[line] as TableLine;
            if (heading !== null) {
              const title = folded === null ? heading : <FoldedTitle title={heading} count={folded} {...fold} />;
              return <Heading key={lineKey} line={line} title={title} columns={width} virtual={virtual} />;
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
        {isLoadingMore ? "Loading more …" : hasMore ? "" : `All ${rows.length} are shown`}
      </p>
    </section>
  );
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

/** The lines of the rows, and whether those of the quiet group are shown. */
function useLines<Row>({ rows, keyOf, groupOf, quietGroup }: TableProps<Row>) {
  const [isOpen, open] = useState(false);
  const lines = useMemo(
    () => linesOf(rows, keyOf, groupOf, quietGroup ? { group: quietGroup, isOpen } : undefined),
    [rows, keyOf, groupOf, quietGroup, isOpen],
  );
  return { lines, fold: { isOpen, open } };
}

/** The lines that are in the DOM: those in sight, and some around them. */
function useVirtualRows(lines: readonly TableLine[], scroller: RefObject<HTMLElement | null>) {
  const heightPx = useRowPx();
  const isCard = heightPx === rowPx.card;
  const virtual = useVirtualizer({
    count: lines.length,
    indexAttribute: "data-line",
    // Measured heights stay with their rows when a heading comes between.
    getItemKey: useCallback((line: number) => lines[line]?.key ?? line, [lines]),
    // On a phone the page scrolls, not the table.
    getScrollElement: () => (isCard ? document.getElementById("main") : scroller.current),
    estimateSize: (line) => (lines[line]?.heading === null ? heightPx : groupPx),
    gap: isCard ? cardGapPx : 0,
    scrollMargin: isCard ? (scroller.current?.offsetTop ?? 0) : 0,
    overscan: 12,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: other heights are measured again
  useEffect(() => virtual.measure(), [heightPx]);
  return { virtual, isCard };
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

/** Widths and titles of the columns, and the box that selects all rows. */
function TableHead<Row>({
  columns,
  order,
  sizing,
  chooser,
}: Pick<TableProps<Row>, "columns" | "order" | "sizing"> & {
  chooser: { areAllChosen: boolean; areSomeChosen: boolean; choose(): void } | null;
}) {
  return (
    <>
      <colgroup>
        {chooser ? <col className={styles.check} /> : null}
        {columns.map(({ id, width }) => (
          <col
            key={id}
            data-column={id}
            style={styleOf("--column-width", id in (sizing?.widths ?? {}) ? `${sizing?.widths[id]}px` : width)}
          />
        ))}
      </colgroup>
      <thead>
        <tr aria-rowindex={1}>
          {chooser ? (
            <th scope="col" className={styles.check}>
              <input
                ref={(box) => {
                  if (box) box.indeterminate = chooser.areSomeChosen;
                }}
                type="checkbox"
                aria-label="Select all rows that are loaded"
                checked={chooser.areAllChosen}
                onChange={chooser.choose}
              />
            </th>
          ) : null}
          {columns.map(({ id, title, as, isEnd, sort, isOneWay }) => (
            <th
              key={id}
              scope="col"
              data-column={id}
              className={isEnd ? styles.end : undefined}
              aria-sort={sort && order ? sortedBy(sort, order.inForce) : undefined}
            >
              {sort && order ? (
                <button
                  type="button"
                  className={styles.sort}
                  onClick={() => order.change(nextSort(sort, order.inForce, isOneWay))}
                >
                  {title}
                  {sortIcons[sortedBy(sort, order.inForce)]}
                </button>
              ) : (
                // Next steps stand beside the menu, under its title.
                <span className={as === "next" ? "visually-hidden" : undefined}>{title}</span>
              )}
              {sizing ? <Sizer id={id} title={title} {...sizing} /> : null}
            </th>
          ))}
        </tr>
      </thead>
    </>
  );
}

/** How far a key widens or narrows a column, in pixels. */
const stepPx = 16;

/**
 * The edge of a column: dragged, or moved by the arrow keys. All columns get the width that they have, so that what is
 * left for one is not taken from another; a double click brings the usual ones back.
 */
function Sizer({
  id,
  title,
  widths,
  change,
}: { id: string; title: string } & NonNullable<TableProps<unknown>["sizing"]>) {
  const edge = useRef<HTMLHRElement>(null);
  const started = useRef<{ x: number; px: number } | null>(null);
  const table = () => edge.current?.closest("table");
  const measured = () =>
    Object.fromEntries(
      [...(table()?.querySelectorAll<HTMLElement>("th[data-column]") ?? [])]
        .filter(({ offsetWidth }) => offsetWidth > 0)
        .map(({ dataset, offsetWidth }) => [String(dataset.column), offsetWidth]),
    );
  const resize = (px: number) => change({ ...widths, ...measured(), [id]: widthWithin(px) });
  const dragged = ({ clientX }: { clientX: number }) => {
    const { x, px } = started.current ?? { x: clientX, px: 0 };
    return widthWithin(px + clientX - x);
  };
  return (
    <hr
      ref={edge}
      className={styles.sizer}
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={`Width of ${title}`}
      aria-valuemin={narrowest}
      aria-valuemax={widest}
      aria-valuenow={widths[id] ?? narrowest}
      aria-valuetext={widths[id] === undefined ? "usual" : `${widths[id]} pixels`}
      data-tip="Drag, or press an arrow key; a double click restores the default widths"
      onKeyDown={(event) => {
        const by = { ArrowLeft: -stepPx, ArrowRight: stepPx }[event.key];
        if (by === undefined) return;
        event.preventDefault();
        resize((measured()[id] ?? 0) + by);
      }}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        started.current = { x: event.clientX, px: measured()[id] ?? 0 };
      }}
      onPointerMove={(event) => {
        if (started.current === null) return;
        // While it is dragged the width concerns this column alone; it is stored when the edge is released.
        const column = table()?.querySelector<HTMLElement>(`col[data-column="${CSS.escape(id)}"]`);
        column?.style.setProperty("--column-width", `${dragged(event)}px`);
      }}
      onPointerUp={(event) => {
        if (started.current === null) return;
        const isMoved = event.clientX !== started.current.x;
        const px = dragged(event);
        started.current = null;
        if (isMoved) resize(px);
      }}
      onPointerCancel={() => {
        started.current = null;
      }}
      onDoubleClick={() => change({})}
    />
  );
}

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
const Line = memo(({ id, index, line, row, columns, isChosen, toggle, measure }: LineProps) => (
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

type FoldedTitleProps = { title: string; count: number; isOpen: boolean; open(isOpen: boolean): void };

/** The heading of rows that are shown on request, with their number. */
function FoldedTitle({ title, count, isOpen, open }: FoldedTitleProps) {
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <button type="button" className={styles.fold} aria-expanded={isOpen} onClick={() => open(!isOpen)}>
      <Chevron size={15} aria-hidden /> {title} <span className="soft number">{count.toLocaleString()}</span>
    </button>
  );
}

type HeadingProps = {
  line: number;
  title: ReactNode;
  columns: number;
  virtual: ReturnType<typeof useVirtualRows>["virtual"];
};

/** What the rows below have in common. */
const Heading = ({ line, title, columns, virtual }: HeadingProps) => (
  <tr ref={virtual.measureElement} data-line={line} className={styles.group}>
    <th scope="rowgroup" colSpan={columns}>
      {title}
    </th>
  </tr>
);

const sortIcons = {
  none: <ChevronsUpDown size={14} aria-hidden />,
  ascending: <ChevronUp size={14} aria-hidden />,
  descending: <ChevronDown size={14} aria-hidden />,
};

const Space = ({ height, columns }: { height: number; columns: number }) => (
  <tr className={styles.space} style={{ height }}>
    <td colSpan={columns} />
  </tr>
);
