import type { ItemOf, ListPath } from "@muster/client";
import { SearchX } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useState } from "react";
import { type FilterOf, type FiltersOf, type Lead, useCount, useList } from "../api/queries.ts";
import { areChosen, usualColumns } from "../rules/column-choice.ts";
import { tellingColumns } from "../rules/telling-columns.ts";
import type { Tone } from "../rules/tone.ts";
import { viewedList } from "../rules/viewed-lists.ts";
import type { Column } from "./column.ts";
import { ColumnsDialog, type ColumnsDialogProps, useColumnChoice, useShownColumns } from "./column-menu.tsx";
import { type Choice, FilterBar } from "./filter-bar.tsx";
import styles from "./list-head.module.css";
import { ListHead } from "./list-head.tsx";
import { ListNote } from "./list-note.tsx";
import { type Matching, SelectionBar, useListSelection } from "./list-selection.tsx";
import { noteListed } from "./listed.ts";
import { useWhyNot } from "./me.tsx";
import { PageTitle } from "./page-title.tsx";
import type { SectionName } from "./sections.ts";
import { EmptyState, FailureState, NotAllowed, Skeleton } from "./states.tsx";
import { Table } from "./table.tsx";
import { Tabs } from "./tabs.tsx";
import { Instant } from "./time.tsx";
import { TimeRange } from "./time-range.tsx";
import { type Filters, pickFilters, useFilters } from "./use-filters.ts";
import { useIsNarrow } from "./use-is-narrow.ts";
import { useWorstFirst } from "./use-worst-first.ts";

const SavedViews = lazy(() => import("./saved-views.tsx"));

type ListPageProps<P extends ListPath> = {
  title: string;
  path: P;
  /** The path's own parameters, where it has some. */
  at?: Record<string, string>;
  /** Names of the API's filters that the address may hold. */
  filters: readonly FilterOf<P>[];
  text?: { name: string; label: string };
  choices?: readonly Choice[];
  labels?: Readonly<Record<string, string>>;
  columns: readonly Column<ItemOf<P>>[];
  everyMs?: number;
  /** Content of a list without any row. */
  empty: ReactNode;
  actions?: ReactNode | ((shown: Shown) => ReactNode);
  /** What can be done with rows that are selected; without it none can be. */
  bulk?: (rows: readonly ItemOf<P>[], clear: () => void) => ReactNode;
  /** What can be done with all rows that match the filters. */
  bulkAll?: (matching: Matching, clear: () => void) => ReactNode;
  /** Filters that count while the address has no others of these names. */
  defaults?: FiltersOf<P>;
  /** Further controls among the filters. */
  controls?: ReactNode;
  /** Whether the API knows a time, as `from` and `to`. */
  hasTimeRange?: true;
  /** Section whose other pages are shown as tabs. */
  section?: SectionName;
  /** How each row is: while the list is whole, those that fail come first. */
  toneOf?(row: ItemOf<P>): Tone;
  /** The heading under which a row stands with its neighbours, in this order of the API; null for none. */
  groupOf?(row: ItemOf<P>, sort: string | undefined): string | null;
  /** The heading whose rows say nothing yet: they come last, and are shown on request. */
  quietGroup?: string;
  /** What a row says, where of rows that say the same after one another the first is enough; null for any other. */
  runOf?(row: ItemOf<P>): string | null;
  /** The rows that need a look: they come first, however many others the list has. */
  lead?: Lead<P> | undefined;
  /** What the rows are, after their number; without it, the title. */
  noun?: string;
  /** Among the filters: its parts with their numbers. */
  segments?: ReactNode | ((areRowsRead: boolean) => ReactNode);
  /** What the list is about, where its words are not everybody's. */
  note?: string;
  /** What of all rows needs a look, above them. */
  notice?: ReactNode;
  /** Below the rows: what else counts for them. */
  foot?(first: ItemOf<P>): ReactNode;
  /** Few rows that stay for long: a failing one comes before another one. */
  isShort?: true;
};

/** A title as it stands within a line: an abbreviation keeps its capitals. */
const nounOf = (title: string) => (/^[A-Z]{2}/.test(title) ? title : title.charAt(0).toLowerCase() + title.slice(1));

/** What an export of the list is to have: null columns for all of them, null rows while their number is not known. */
export type Shown = { columns: readonly string[] | null; total: number | null };

/** A list of the API as a page, in each of its states. */
export function ListPage<P extends ListPath>(props: ListPageProps<P>) {
  const { title, path, at, filters: names, text, choices = [], labels, columns, everyMs } = props;
  const {
    empty,
    actions,
    section,
    bulk,
    bulkAll,
    noun = nounOf(title),
    segments,
    note,
    hasTimeRange = false,
    defaults,
    lead,
  } = props;
  const isNarrow = useIsNarrow();
  const notAllowed = useWhyNot(`GET ${path}`);
  const [filters, change] = useFilters();
  const query: Filters & FiltersOf<P> = pickFilters({ ...defaults, ...filters }, names) as FiltersOf<P>;
  const params = { ...(at ? { path: at } : {}), query };
  // In another order than newest first, new rows cannot be identified.
  const polled = everyMs && !query.sort ? { everyMs } : {};
  const list = useList(path, { params }, { ...polled, enabled: notAllowed === null, isStill: true, lead });
  const count = useCount(path, { params }, list);
  const { rows, grouped } = useOrdered(list, query.sort, props);
  const [columnChoice, chooseColumns] = useColumnChoice(path);
  const choice = columnChoice ?? usualColumns;
  const possible = useShownColumns(columns, columnChoice);
  const isChosen = areChosen(columnChoice);
  const shownColumns = useMemo(() => tellingColumns(possible, rows, isChosen), [possible, rows, isChosen]);
  const { dialog, ...opens } = useListDialogs(path, names, {
    columns: columns.filter(({ as }) => as !== "next"),
    choice: columnChoice,
    onChange: chooseColumns,
  });
  const selection = useListSelection(rows, keyOf, query);
  const showNewest = () => {
    void list.showNewest();
    count.recount();
  };
  useEffect(() => noteListed(rows.map(keyOf)), [rows]);
  if (notAllowed !== null) {
    return (
      <>
        <PageTitle title={title} />
        <NotAllowed why={notAllowed} />
      </>
    );
  }
  const exported = isChosen ? shownColumns.flatMap((column) => column.exported ?? []) : null;
  const shown: Shown = { columns: exported, total: count.total };
  const parts = typeof segments === "function" ? segments(list.readCount !== null) : segments;
  const inForce = names.filter((name) => name !== "orgId" && name !== "sort" && filters[name]);
  const order = names.some((name) => name === "sort")
    ? { order: { inForce: query.sort, change: (sort: string | undefined) => change({ sort }) } }
    : {};
  return (
    <>
      <div className={styles.list} data-urgent={isUrgent(rows, props) || undefined}>
        <ListHead
          title={title}
          total={count.total}
          isEstimate={count.isEstimate}
          least={rows.length}
          noun={noun}
          path={path}
          asOf={list.asOf}
          onRefresh={() => showNewest()}
          {...opens}
        >
          {typeof actions === "function" ? actions(shown) : actions}
        </ListHead>
        {section ? <Tabs section={section} label={`Pages beside ${title}`} /> : null}
        <FilterBar text={text} choices={choices} labels={labels} parts={parts}>
          {hasTimeRange ? <TimeRange /> : null}
          {props.controls}
        </FilterBar>
        {note && !isNarrow ? <ListNote>{note}</ListNote> : null}
        {props.notice}
      </div>
      {dialog}
      <UnknownFilters filters={filters} names={names} change={change} />
      <ListFailure list={list} />
      <SelectionBar of={selection} total={count.total} bulk={bulk} bulkAll={bulkAll} />
      <NewRows count={list.newCount} isMore={list.isMore} movedCount={list.movedCount} show={showNewest} />
      <SearchedTo list={list} />
      {list.isLoading ? <Skeleton what={`Loading ${title.toLowerCase()}`} /> : null}
      {rows.length > 0 ? (
        <Table
          label={title}
          columns={shownColumns}
          rows={rows}
          keyOf={keyOf}
          {...grouped}
          {...(bulk ? { selection: selection.inTable } : {})}
          {...order}
          sizing={{ widths: choice.widths, change: (widths) => chooseColumns({ ...choice, widths }) }}
          total={count.total}
          hasMore={list.hasMore}
          isLoadingMore={list.isLoadingMore}
          isStale={list.isStale}
          loadMore={() => void list.loadMore()}
        />
      ) : list.isLoading || list.failure ? null : inForce.length > 0 ? (
        <NothingMatches inForce={inForce} filters={filters} drop={(name) => change({ [name]: undefined })} />
      ) : (
        empty
      )}
      {note && isNarrow ? <ListNote>{note}</ListNote> : null}
      {rows[0] === undefined ? null : props.foot?.(rows[0])}
    </>
  );
}

/** What the menu of a list opens: its columns, and its saved views where it has some. */
function useListDialogs(path: string, names: readonly string[], columns: Omit<ColumnsDialogProps, "onClose">) {
  const [opened, open] = useState<"columns" | "views" | null>(null);
  const views = viewedList(path);
  const close = () => open(null);
  const dialogs = {
    columns: <ColumnsDialog {...columns} onClose={close} />,
    views: views === null ? null : <SavedViews of={views} names={names} onClose={close} />,
  };
  return {
    onColumns: () => open("columns"),
    onViews: views === null ? undefined : () => open("views"),
    dialog: opened === null ? null : <Suspense>{dialogs[opened]}</Suspense>,
  };
}

type Ranking<Row> = {
  toneOf?(row: Row): Tone;
  groupOf?(row: Row, sort: string | undefined): string | null;
  quietGroup?: string;
  runOf?(row: Row): string | null;
};

/** A whole list's rows with the failing ones first, and their headings; those by how rows are need that order. */
function useOrdered<Row>(
  list: { rows: readonly Row[]; hasMore: boolean },
  sort: string | undefined,
  { toneOf, groupOf, quietGroup, runOf }: Ranking<Row>,
) {
  const isWhole = !list.hasMore && !sort;
  const rows = useWorstFirst(list.rows, keyOf, isWhole ? toneOf : undefined);
  const isGrouped = isWhole || !toneOf;
  const grouped = useMemo(
    () => (isGrouped && groupOf ? { groupOf: (row: Row) => groupOf(row, sort), quietGroup, runOf } : {}),
    [isGrouped, groupOf, quietGroup, runOf, sort],
  );
  return { rows, grouped };
}

/** Whether a row of a short list comes before what starts another one. */
const isUrgent = <Row,>(rows: readonly Row[], { isShort, toneOf }: Ranking<Row> & { isShort?: true }): boolean =>
  isShort === true && toneOf !== undefined && rows.some((row) => ["bad", "warn"].includes(toneOf(row)));

type UnknownFiltersProps = {
  filters: Filters;
  names: readonly string[];
  change(wanted: Record<string, string | undefined>): void;
};

/** Filters of the address that this list does not have: links of people and programs may hold some. */
function UnknownFilters({ filters, names, change }: UnknownFiltersProps) {
  const unknown = Object.keys(filters).filter((name) => filters[name] && name !== "orgId" && !names.includes(name));
  if (unknown.length === 0) return null;
  const drop = () => change(Object.fromEntries(unknown.map((name) => [name, undefined])));
  return (
    <p role="status" className={styles.partial}>
      This list has no filter {unknown.join(", ")}: its rows are not narrowed by it.{" "}
      <button type="button" data-weight="link" onClick={drop}>
        Take it out of the address
      </button>
    </p>
  );
}

type NothingMatchesProps = { inForce: readonly string[]; filters: Filters; drop(name: string): void };

const NothingMatches = ({ inForce, filters, drop }: NothingMatchesProps) => (
  <EmptyState title="Nothing matches these filters." icon={SearchX}>
    <div>
      {inForce.map((name) => (
        <button type="button" key={name} onClick={() => drop(name)}>
          Without {name} “{filters[name]}”
        </button>
      ))}
    </div>
  </EmptyState>
);

function ListFailure({ list }: { list: Pick<ReturnType<typeof useList>, "failure" | "refresh"> }) {
  return list.failure ? (
    list.failure.code === "organization_context_required" ? (
      <EmptyState title="Choose an organization first.">
        <p>This list is kept per organization: choose one at the top of the page.</p>
      </EmptyState>
    ) : (
      <FailureState failure={list.failure} onRetry={() => void list.refresh()} />
    )
  ) : null;
}

function SearchedTo({ list }: { list: Pick<ReturnType<typeof useList>, "searchedTo" | "isLoadingMore" | "loadMore"> }) {
  return list.searchedTo ? (
    <p role="status" className={styles.partial}>
      The search looked back as far as <Instant at={list.searchedTo} />; older rows were not looked at yet.{" "}
      <button type="button" data-weight="link" disabled={list.isLoadingMore} onClick={() => void list.loadMore()}>
        {list.isLoadingMore ? "Looking …" : "Look further back"}
      </button>
    </p>
  ) : null;
}

const keyOf = (row: unknown) => String((row as { id: string }).id);

type NewRowsProps = {
  count: number;
  isMore: boolean;
  /** How many rows would change to the head of the list, or from there. */
  movedCount: number;
  show(): void;
};

/** What is new: nothing moves under the pointer until the user requests it. */
const NewRows = ({ count, isMore, movedCount, show }: NewRowsProps) => (
  <div role="status" className={count + movedCount > 0 ? styles.newest : undefined}>
    {count + movedCount > 0 ? (
      <button type="button" onClick={show}>
        {(count + movedCount).toLocaleString()}
        {isMore ? " or more" : ""} {movedCount > 0 ? "changed" : "new"} – show
      </button>
    ) : null}
  </div>
);
