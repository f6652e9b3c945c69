import type { ItemOf, ListPath } from "@muster/client";
import type { ReactNode } from "react";
import { useWhyNot } from "../api/me.tsx";
import { useList } from "../api/queries.ts";
import { type Choice, FilterBar } from "./filter-bar.tsx";
import { ListHead } from "./list-head.tsx";
import { PageTitle } from "./page-title.tsx";
import { EmptyState, FailureState, Loading, NotAllowed } from "./states.tsx";
import { type Column, Table } from "./table.tsx";
import { useFilters } from "./use-filters.ts";

type ListPageProps<P extends ListPath> = {
  title: string;
  path: P;
  /** The path's own parameters, where it has some. */
  at?: Record<string, string>;
  /** Names of the API's filters that the address may hold. */
  filters: readonly string[];
  text?: { name: string; label: string };
  choices?: readonly Choice[];
  labels?: Readonly<Record<string, string>>;
  columns: readonly Column<ItemOf<P>>[];
  everyMs?: number;
  /** What stands there while there is nothing at all. */
  empty: ReactNode;
  actions?: ReactNode;
};

/** A list of the API as a page, in each of its states. */
export function ListPage<P extends ListPath>(props: ListPageProps<P>) {
  const { title, path, at, filters: names, text, choices = [], labels, columns, everyMs, empty, actions } = props;
  const notAllowed = useWhyNot(`GET ${path}`);
  const [filters, change] = useFilters();
  const query = Object.fromEntries(names.map((name) => [name, filters[name]]));
  const params = { ...(at ? { path: at } : {}), query };
  const list = useList(path, { params }, { ...(everyMs ? { everyMs } : {}), enabled: notAllowed === null });
  if (notAllowed !== null) {
    return (
      <>
        <PageTitle title={title} />
        <NotAllowed why={notAllowed} />
      </>
    );
  }
  const inForce = names.filter((name) => name !== "orgId" && filters[name]);
  return (
    <>
      <ListHead title={title} total={list.total} path={path} asOf={list.asOf} onRefresh={() => void list.refresh()}>
        {actions}
      </ListHead>
      <FilterBar {...(text ? { text } : {})} choices={choices} {...(labels ? { labels } : {})} />
      {list.failure ? (
        list.failure.code === "organization_context_required" ? (
          <EmptyState title="Choose an organization first.">
            <p>This list is kept per organization: choose one at the top of the page.</p>
          </EmptyState>
        ) : (
          <FailureState failure={list.failure} onRetry={() => void list.refresh()} />
        )
      ) : null}
      {list.isLoading ? <Loading what={`Loading ${title.toLowerCase()}`} /> : null}
      {list.rows.length > 0 ? (
        <Table
          label={title}
          columns={columns}
          rows={list.rows}
          keyOf={(row) => String((row as { id: string }).id)}
          total={list.total}
          hasMore={list.hasMore}
          isLoadingMore={list.isLoadingMore}
          isStale={list.isStale}
          loadMore={() => void list.loadMore()}
        />
      ) : !list.isLoading && list.failure === null ? (
        inForce.length > 0 ? (
          <EmptyState title="Nothing matches these filters.">
            <div>
              {inForce.map((name) => (
                <button type="button" key={name} onClick={() => change({ [name]: undefined })}>
                  Without {name} “{filters[name]}”
                </button>
              ))}
            </div>
          </EmptyState>
        ) : (
          empty
        )
      ) : null}
    </>
  );
}
