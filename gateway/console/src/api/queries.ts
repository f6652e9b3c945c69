import type { ApiError, ItemOf, ListPath, paths } from "@muster/client";
import {
  type InfiniteData,
  QueryClient,
  type UseQueryResult,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";
import { isPassing } from "../rules/failure-sentence.ts";
import { leadChanges, withLead, withValues } from "../rules/lead.ts";
import { withNewest } from "../rules/newest.ts";
import { api } from "./api.ts";
import type { Failure } from "./call.ts";

type QueryOf<P extends keyof paths> = paths[P] extends { get: { parameters: { query?: infer Query } } }
  ? NonNullable<Query>
  : never;
/** Query parameters that the API knows at a path: another one is refused there, and does not compile here. */
export type FilterOf<P extends keyof paths> = P extends unknown ? keyof QueryOf<P> & string : never;
export type FiltersOf<P extends keyof paths> = { readonly [Name in FilterOf<P>]?: string | undefined };
type Init<P extends keyof paths> = { params?: { path?: Record<string, string>; query?: FiltersOf<P> } };
type Reply = { data?: unknown; error?: ApiError; response: Response };
type Get = (path: string, init: object) => Promise<Reply>;

/** What a failed query throws. */
export class Failed extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.code);
    this.failure = failure;
  }
}

function apiFailureOf(error: ApiError | undefined, response: Response): Failure {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  return {
    ...(error ?? { code: "unavailable", error: "The reply cannot be read", requestId: "" }),
    status: response.status,
    retryAfterSeconds: Number.isFinite(seconds) ? seconds : null,
  } as Failure;
}

/** Milliseconds after which something that failed for now is asked again. */
const recoverEveryMs = 10_000;

/**
 * When a query that failed is asked again by itself: one that could not be answered now, as without a network. Null for
 * a refusal, which another answer does not follow by itself.
 */
function recoveryMs(error: Error | null): number | null {
  if (!(error instanceof Failed)) return null;
  const { failure } = error;
  if (!isPassing(failure)) return null;
  return Math.max(recoverEveryMs, (failure.retryAfterSeconds ?? 0) * 1_000);
}

/** The data of a reply. Throws Failed. */
export async function dataOf<T>(reply: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await reply;
  if (data === undefined) throw new Failed(apiFailureOf(error as ApiError | undefined, response));
  return data;
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // The client repeats what may be repeated.
      retry: false,
      staleTime: 5_000,
      gcTime: 300_000,
      refetchOnWindowFocus: true,
    },
  },
});

/** The body of a successful GET of the API. */
export type BodyOf<P extends keyof paths> = paths[P] extends {
  get: { responses: { 200: { content: { "application/json": infer Body } } } };
}
  ? Body
  : never;

const without = (query: Readonly<Record<string, string | undefined>>) =>
  Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined && value !== ""));

/** Reads a path once. Throws Failed. */
export const read = <P extends keyof paths>(path: P, init: Init<P> = {}, signal?: AbortSignal): Promise<BodyOf<P>> =>
  dataOf((api.GET as unknown as Get)(path, { ...init, signal }) as Promise<{ data?: BodyOf<P>; response: Response }>);

/** Begins to read a path that `useGet` is about to read; a failure is left for it to report. */
export const prefetch = (path: keyof paths): Promise<void> =>
  queryClient.prefetchQuery({ queryKey: [path, {}], queryFn: ({ signal }) => read(path, {}, signal) });

type GetOptions<Body> = {
  /** Polls while the tab is visible; false, for a body that changes no more, ends it. */
  everyMs?: number | ((body: Body | undefined) => number | false);
  enabled?: boolean;
  /** Data that another query has read already, and when: it is not fetched again at once. */
  initial?: { body: Body; atMs: number };
  /** How long a result is fresh: a tab or page that is shown again does not refetch it. */
  freshMs?: number;
};

/** One record or report of the API. */
export function useGet<P extends keyof paths>(
  path: P,
  init: Init<P> = {},
  { everyMs, enabled = true, initial, freshMs }: GetOptions<BodyOf<P>> = {},
): UseQueryResult<BodyOf<P>, Failed> {
  return useQuery<BodyOf<P>, Failed>({
    ...(freshMs ? { staleTime: freshMs } : {}),
    ...(initial ? { initialData: initial.body as never, initialDataUpdatedAt: initial.atMs } : {}),
    queryKey: [path, init.params ?? {}],
    queryFn: ({ signal }) => read(path, init, signal),
    refetchInterval: ({ state }) =>
      recoveryMs(state.error) ?? (typeof everyMs === "function" ? everyMs(state.data) : everyMs) ?? false,
    enabled,
  });
}

const pageSize = 100;
/** A search through details reads for as long as it may: twice would be twice as long. */
const isCounted = (path: string) => !path.endsWith("/search");
type Pagination = {
  total: number | null;
  nextCursor: string | null;
  totalIsEstimate?: boolean;
  /** Time back to which a search that reached its deadline has searched. */
  searchedTo?: string | null;
};
type ListedRow<P extends ListPath> = ItemOf<P> & { id: string };
type ListBody<P extends ListPath> = { data: ListedRow<P>[]; pagination: Pagination };
/** A page that was read; the first one with the rows that come before all, null where they were not read in time. */
type ListRead<P extends ListPath> = ListBody<P> & { lead: ListedRow<P>[] | null };

type ListOptions = {
  /** Polls while the tab is visible. */
  everyMs?: number;
  enabled?: boolean;
  /** Rows keep their position after a refetch; the number of new ones is reported, and `showNewest` shows them. */
  isStill?: boolean;
};

/** Filters of the rows that come before the others of a list, and their order. */
export type Lead<P extends ListPath> = { filters: FiltersOf<P>; order<R extends ItemOf<P>>(rows: R[]): R[] };

/** How long the first rows of a list wait, once they are read, for those that are to come before them. */
const leadWithinMs = 200;
const lateLead = () => new Promise<null>((resolve) => setTimeout(() => resolve(null), leadWithinMs));

/** A page of a list after a cursor; the first one, of an empty cursor, with the rows that lead the list. */
async function readPage<P extends ListPath>(
  read: (query: object) => Promise<ListBody<P>>,
  query: object,
  cursor: string,
  lead: Lead<P> | undefined,
): Promise<ListRead<P>> {
  if (cursor !== "") return { ...(await read({ ...query, cursor })), lead: null };
  const leading = lead && read({ ...query, ...lead.filters }).catch(() => null);
  const body = await read(query);
  const first = leading && (await Promise.race([leading, lateLead()]));
  return { ...body, lead: lead && first ? lead.order(first.data) : null };
}

type LatestOptions<P extends ListPath> = {
  /** The rows when the list was read, and when that was; null while it is not. */
  read: { data: ListedRow<P>[] } | null;
  readAtMs: number;
  everyMs: number | undefined;
  isStill: boolean;
};

/** Rows of a list that keeps its rows, as they are since it was read; undefined while there is nothing newer. */
function useLatest<P extends ListPath>(path: P, init: Init<P>, { read, readAtMs, everyMs, isStill }: LatestOptions<P>) {
  const { data, dataUpdatedAt } = useGet(path, init, {
    ...(everyMs ? { everyMs } : {}),
    enabled: read !== null && isStill && everyMs !== undefined,
    ...(read ? { initial: { body: read as never, atMs: readAtMs } } : {}),
  });
  const isNewer = read !== null && dataUpdatedAt > readAtMs;
  const rows = isNewer ? (data as { data: ListedRow<P>[] } | undefined)?.data : undefined;
  return { rows, atMs: isNewer ? dataUpdatedAt : readAtMs };
}

/**
 * A list of the API, page after page as it is scrolled to. Its rows come without their number, which may cost more than
 * they do: useCount asks for it.
 */
export function useList<P extends ListPath>(
  path: P,
  init: Init<P> = {},
  { everyMs, enabled = true, isStill = false, lead }: ListOptions & { lead?: Lead<P> | undefined } = {},
) {
  const client = useQueryClient();
  const queryKey = [path, init.params ?? {}, "list", lead?.filters ?? null];
  const filters = without(init.params?.query ?? {});
  const newestQuery = { ...filters, limit: String(pageSize), skipCount: "true" };
  const initOf = (query: object) => ({ params: { ...init.params, query } }) as Init<P>;
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) =>
      readPage((wanted) => read(path, initOf(wanted), signal) as Promise<ListBody<P>>, newestQuery, pageParam, lead),
    initialPageParam: "",
    getNextPageParam: (last: ListRead<P>) => last.pagination.nextCursor ?? undefined,
    // Old rows stay while others come.
    placeholderData: (before) => before,
    enabled,
    // Reading many pages again and again costs more than it shows.
    refetchInterval: ({ state }) =>
      recoveryMs(state.error) ?? (isStill || (state.data?.pages.length ?? 1) > 1 ? false : (everyMs ?? false)),
    refetchOnWindowFocus: !isStill,
  });
  const [first] = query.data?.pages ?? [];
  const isRead = enabled && first !== undefined && !query.isPlaceholderData;
  const since = { readAtMs: query.dataUpdatedAt, isStill };
  const newest = useLatest(path, initOf(newestQuery), { ...since, read: isRead ? first : null, everyMs });
  const led = isRead ? first.lead : null;
  // Half as often: what comes first may be a few rows of very many.
  const ledNow = useLatest(path, initOf({ ...newestQuery, ...lead?.filters }), {
    ...since,
    read: led && { data: led },
    everyMs: everyMs && 2 * everyMs,
  });
  const pages = query.data?.pages;
  const listed = useMemo(() => {
    const all = (pages ?? []).flatMap((page) => page.data);
    return withLead(all, pages?.[0]?.lead ?? []);
  }, [pages]);
  const { rows, newCount, isMore } = useMemo(
    () => withNewest(withValues(listed, ledNow.rows), newest.rows),
    [listed, ledNow.rows, newest.rows],
  );
  const fresh = newest.rows?.slice(0, newCount) ?? [];
  return {
    rows: rows as readonly ItemOf<P>[],
    /** New rows since the list was read, and whether there may be more than these. */
    newCount,
    isMore,
    /** How many rows have come to those that lead the list, or would leave them. */
    movedCount: led && ledNow.rows ? leadChanges({ before: led, now: ledNow.rows, fresh, most: pageSize }) : 0,
    /** Reads the list from its beginning, with the new rows. */
    async showNewest() {
      client.setQueryData<InfiniteData<ListRead<P>>>(
        queryKey,
        (data) => data && { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) },
      );
      await query.refetch();
    },
    /** How many were read; all there are when there is no more. */
    readCount: isRead ? listed.length : null,
    searchedTo: query.data?.pages.at(-1)?.pagination.searchedTo ?? null,
    failure: query.error instanceof Failed ? query.error.failure : null,
    isLoading: query.isPending,
    isStale: query.isPlaceholderData,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: query.fetchNextPage,
    refresh: query.refetch,
    asOf: newest.atMs,
  };
}

/** Rows are fetched first: a user who leaves or keeps typing causes no count. */
const countAfterMs = 300;

/**
 * How many rows a list of useList has, null while that is not known: requested once per filter, a moment after its
 * first rows are shown, and never because of further pages.
 */
export function useCount<P extends ListPath>(
  path: P,
  init: Init<P>,
  { readCount, hasMore }: { readCount: number | null; hasMore: boolean },
) {
  const query = without(init.params?.query ?? {});
  const isWanted = readCount !== null && hasMore && isCounted(path);
  const wanted = JSON.stringify([path, init.params?.path, query]);
  const [settled, settle] = useState<string | null>(null);
  useEffect(() => {
    if (!isWanted) return;
    const timer = setTimeout(() => settle(wanted), countAfterMs);
    return () => clearTimeout(timer);
  }, [isWanted, wanted]);
  const count = useGet(
    path,
    { params: { ...init.params, query: { ...query, limit: "1" } as FiltersOf<P> } },
    { enabled: isWanted && settled === wanted, freshMs: 60_000 },
  );
  const counted = (count.data as ListBody<P> | undefined)?.pagination;
  const isAll = readCount !== null && !hasMore;
  return {
    total: isAll ? readCount : (counted?.total ?? null),
    isEstimate: !isAll && (counted?.totalIsEstimate ?? false),
    recount: () => counted && void count.refetch(),
  };
}

/** Makes everything that was read from these paths be read again. */
export function useForget(): (...prefixes: (keyof paths)[]) => Promise<void> {
  const client = useQueryClient();
  return useCallback(
    async (...prefixes) => {
      await client.invalidateQueries({
        predicate: ({ queryKey }) => prefixes.some((prefix) => String(queryKey[0]).startsWith(prefix)),
      });
    },
    [client],
  );
}
