import { ChevronDown, ChevronsUpDown, ChevronUp } from "lucide-react";
import { nextSort, sortedBy } from "../rules/sort.ts";
import { type Column, type Order, type Sizing, styleOf } from "./column.ts";
import { ColumnSizer } from "./column-sizer.tsx";
import styles from "./table.module.css";

const sortIcons = {
  none: <ChevronsUpDown size={14} aria-hidden />,
  ascending: <ChevronUp size={14} aria-hidden />,
  descending: <ChevronDown size={14} aria-hidden />,
};

type TableHeadProps<Row> = {
  columns: readonly Column<Row>[];
  order: Order | undefined;
  sizing: Sizing | undefined;
  /** The box that selects all rows; null where none is selected. */
  chooser: { areAllChosen: boolean; areSomeChosen: boolean; choose(): void } | null;
};

/** Widths and titles of the columns, and the box that selects all rows. */
export function TableHead<Row>({ columns, order, sizing, chooser }: TableHeadProps<Row>) {
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
              {sizing ? <ColumnSizer id={id} title={title} {...sizing} /> : null}
            </th>
          ))}
        </tr>
      </thead>
    </>
  );
}
