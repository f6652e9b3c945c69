import { type ReactNode, useState } from "react";
import { BulkBar } from "./bulk-bar.tsx";
import type { Selection } from "./table.tsx";
import type { Filters } from "./use-filters.ts";

/** All rows that match the filters of a list, loaded or not. */
export type Matching = { filters: Filters; total: number };

/** The rows of a list that are selected: some that are loaded, or all that match its filters. */
export function useListSelection<Row>(rows: readonly Row[], keyOf: (row: Row) => string, filters: Filters) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  // The filters under which all matching rows were selected; under other ones they are not.
  const [allUnder, setAllUnder] = useState<string | null>(null);
  const inForce = JSON.stringify(filters);
  const isAll = allUnder === inForce;
  const change = (keys: ReadonlySet<string>) => {
    setAllUnder(null);
    setChosen(keys);
  };
  return {
    filters,
    isAll,
    // Rows that another filter hides are no longer selected.
    rows: isAll ? rows : rows.filter((row) => chosen.has(keyOf(row))),
    areAllLoaded: rows.length > 0 && rows.every((row) => chosen.has(keyOf(row))),
    inTable: { chosen: isAll ? new Set(rows.map(keyOf)) : chosen, change } satisfies Selection,
    chooseAll: () => setAllUnder(inForce),
    clear: () => change(new Set()),
  };
}

type SelectionBarProps<Row> = {
  of: ReturnType<typeof useListSelection<Row>>;
  /** How many rows match; null while that is not known. */
  total: number | null;
  /** What can be done with the selected rows; none can be selected without it. */
  bulk: ((rows: readonly Row[], clear: () => void) => ReactNode) | undefined;
  /** What can be done with all rows that match, loaded or not. */
  bulkAll: ((matching: Matching, clear: () => void) => ReactNode) | undefined;
};

/** What can be done with the selection; nothing while there is none. */
export function SelectionBar<Row>({ of, total, bulk, bulkAll }: SelectionBarProps<Row>) {
  if (!bulk || of.rows.length === 0) return null;
  if (of.isAll && bulkAll && total !== null) {
    return (
      <BulkBar said={`All ${total.toLocaleString()} that match`} onClear={of.clear}>
        {bulkAll({ filters: of.filters, total }, of.clear)}
      </BulkBar>
    );
  }
  const areMore = bulkAll !== undefined && of.areAllLoaded && total !== null && total > of.rows.length;
  return (
    <BulkBar said={`${of.rows.length.toLocaleString()} selected`} onClear={of.clear}>
      {areMore ? (
        <button type="button" data-weight="link" onClick={of.chooseAll}>
          Select all {total.toLocaleString()} that match
        </button>
      ) : null}
      {bulk(of.rows, of.clear)}
    </BulkBar>
  );
}
