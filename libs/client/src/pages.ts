import type { Client } from "openapi-fetch";
import { type ApiError, MusterError } from "./errors.ts";
import type { paths } from "./generated/schema.ts";

type Replied<P extends keyof paths> = paths[P] extends {
  get: { responses: { 200: { content: { "application/json": infer Body } } } };
}
  ? Body
  : never;

type Queried<P extends keyof paths> = paths[P] extends { get: { parameters: { query?: infer Query } } }
  ? keyof NonNullable<Query>
  : never;

/** Paths of lists: what they answer has `data` and `pagination`, and they take the cursor of the page before. */
export type ListPath = {
  [P in keyof paths]: Replied<P> extends { data: unknown[]; pagination: unknown }
    ? "cursor" extends Queried<P>
      ? P
      : never
    : never;
}[keyof paths];

/** What a list holds. */
export type ItemOf<P extends ListPath> = Replied<P> extends { data: (infer Item)[] } ? Item : never;

type Parameters<P extends ListPath> = paths[P] extends { get: { parameters: infer All } }
  ? Omit<All, "query" | "header" | "cookie"> &
      (All extends { query?: infer Query } ? { query?: Omit<NonNullable<Query>, "page" | "cursor"> } : object)
  : never;

type Init<P extends ListPath> = { params?: Parameters<P>; signal?: AbortSignal };

export type Pages = <P extends ListPath>(path: P, init?: Init<P>) => AsyncGenerator<ItemOf<P>, void>;

type Listed = { data: unknown[]; pagination: { nextCursor: string | null } };

/**
 * The items of lists, each page asked for when the one before has been read. Totals are not computed. Items that are
 * added meanwhile move no other.
 */
export function pagesOf(client: Client<paths>): Pages {
  const get = client.GET as unknown as (
    path: string,
    init: object,
  ) => Promise<{ data?: Listed; error?: ApiError; response: Response }>;
  return async function* pages(path, init = {}) {
    const { params = {}, signal } = init as { params?: { query?: object }; signal?: AbortSignal };
    let cursor: string | null = null;
    do {
      const query = { limit: "100", ...params.query, skipCount: "true", ...(cursor === null ? {} : { cursor }) };
      const { data, error, response } = await get(path, {
        params: { ...params, query },
        ...(signal ? { signal } : {}),
      });
      if (data === undefined) {
        throw new MusterError(response.status, error ?? { error: "No reply", code: "network_error", requestId: "" });
      }
      yield* data.data as ItemOf<typeof path>[];
      cursor = data.pagination.nextCursor;
    } while (cursor !== null);
  };
}
