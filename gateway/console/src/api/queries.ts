import type { ApiError, ItemOf, ListPath, paths } from "@muster/client";
import { QueryClient, type UseQueryResult, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { api } from "./api.ts";
import type { Failure } from "./call.ts";

type Init = { params?: { path?: Record<string, string>; query?: Record<string, string | undefined> } };
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

export function failureOf(error: ApiError | undefined, response: Response): Failure {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  return {
    ...(error ?? { code: "unavailable", error: "The reply cannot be read", requestId: "" }),
    status: response.status,
    retryAfterSeconds: Number.isFinite(seconds) ? seconds : null,
  } as Failure;
}

/** The data of a reply. Throws Failed. */
export async function dataOf<T>(reply: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await reply;
  if (data === undefined) throw new Failed(failureOf(error as ApiError | undefined, response));
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

type GetBody<P extends keyof paths> = paths[P] extends {
  get: { responses: { 200: { content: { "application/json": infer Body } } } };
}
  ? Body
  : never;

const without = (query: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined && value !== ""));

/** One record or report of the API. `everyMs` asks again while the tab is visible. */
export function useGet<P extends keyof paths>(
  path: P,
  init: Init = {},
  { everyMs, enabled = true }: { everyMs?: number; enabled?: boolean } = {},
): UseQueryResult<GetBody<P>, Failed> {
  return useQuery<GetBody<P>, Failed>({
    queryKey: [path, init.params ?? {}],
    queryFn: ({ signal }) =>
      dataOf(
        (api.GET as unknown as Get)(path, { ...init, signal }) as Promise<{ data?: GetBody<P>; response: Response }>,
      ),
    refetchInterval: everyMs ?? false,
    enabled,
  });
}

const pageSize = 100;
type ListBody = { data: unknown[]; pagination: { total: number | null; nextCursor: string | null } };

/** A list of the API, page after page as it is scrolled to. */
export function useList<P extends ListPath>(
  path: P,
  init: Init = {},
  { everyMs, enabled = true }: { everyMs?: number; enabled?: boolean } = {},
) {
  const query = useInfiniteQuery({
    queryKey: [path, init.params ?? {}, "list"],
    queryFn: ({ pageParam, signal }) => {
      const filters = without(init.params?.query ?? {});
      const place = pageParam === "" ? {} : { cursor: pageParam, skipCount: "true" };
      const params = { ...init.params, query: { ...filters, limit: String(pageSize), ...place } };
      return dataOf(
        (api.GET as unknown as Get)(path, { params, signal }) as Promise<{ data?: ListBody; response: Response }>,
      );
    },
    initialPageParam: "",
    getNextPageParam: (last: ListBody) => last.pagination.nextCursor ?? undefined,
    // Old rows stay while others come.
    placeholderData: (before) => before,
    enabled,
    // Reading many pages again and again costs more than it shows.
    refetchInterval: (current) => ((current.state.data?.pages.length ?? 1) > 1 ? false : (everyMs ?? false)),
  });
  const rows = (query.data?.pages ?? []).flatMap((page) => page.data) as ItemOf<P>[];
  return {
    rows,
    total: query.data?.pages[0]?.pagination.total ?? null,
    failure: query.error instanceof Failed ? query.error.failure : null,
    isLoading: query.isPending,
    isStale: query.isPlaceholderData,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: query.fetchNextPage,
    refresh: query.refetch,
    asOf: query.dataUpdatedAt,
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
