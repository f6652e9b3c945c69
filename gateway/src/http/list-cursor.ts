import { createHash } from "node:crypto";
import { AppError, type Caller, foreignCursor } from "@muster/kit";
import { RenderedPage } from "../route/reply.ts";
import type { Route } from "../route/route.ts";
import type { Exchange } from "./exchange.ts";

/** Parameters that choose a page of a list, and so no rows. */
const paging = new Set(["page", "limit", "cursor", "skipCount"]);
const bindingBytes = 9;
const mismatch = "Belongs to another list, filter or organization: begin without a cursor";

/** What a cursor belongs to: a list, what its path names, its filters, and the caller's partner or organization. */
export type ListOf = {
  row: Pick<Route, "path">;
  params: object;
  query: object;
  caller: Pick<Caller, "scope" | "partnerId" | "orgId">;
};

/**
 * A service's cursor as clients get it: 12 characters of a hash of what it belongs to, a dot, the cursor. No secret: it
 * guards against a position in another list, not against a client that makes up its own.
 */
export function bindCursor(list: ListOf, cursor: string): string {
  return `${bindingOf(list)}.${cursor}`;
}

/** The service's cursor. Throws AppError `validation_failed` for what is none, `cursor_mismatch` for another list's. */
export function unbindCursor(list: ListOf, bound: string): string {
  const [, binding, cursor] = /^([\w-]{12})\.([\w-]+)$/.exec(bound) ?? [];
  if (cursor === undefined) throw foreignCursor();
  if (binding === bindingOf(list)) return cursor;
  const details = { formErrors: [], fieldErrors: { cursor: [mismatch] } };
  throw new AppError("cursor_mismatch", "Cursor of another list", { facts: { details } });
}

function bindingOf({ row, params, query, caller: { scope, partnerId, orgId } }: ListOf): string {
  // In the order of their schema; an empty filter filters nothing.
  const filters = Object.entries(query).filter(
    ([name, value]) => !paging.has(name) && value !== undefined && value !== "",
  );
  const parts = [row.path, params, filters, scope, partnerId, orgId];
  return createHash("sha256").update(JSON.stringify(parts)).digest().subarray(0, bindingBytes).toString("base64url");
}

/** Whether a row is a list with cursors: its query has one. */
export const hasCursor = ({ query }: Pick<Route, "query">): boolean => Object.hasOwn(query?.shape ?? {}, "cursor");

/** The query with the service's cursor instead of the client's. Throws as `unbindCursor`. */
export function withOwnCursor({ served: { row }, session, params }: Exchange, query: object): object {
  const { cursor } = query as { cursor?: string };
  if (!cursor || !hasCursor(row) || session === null) return query;
  return { ...query, cursor: unbindCursor({ row, params, query, caller: session.caller }, cursor) };
}

/** The reply of a list with its next cursor bound to the list; any other reply as it is. */
export function withBoundCursor({ served: { row }, session, params, queryValues }: Exchange, reply: unknown): unknown {
  if (!hasCursor(row) || session === null || !isPage(reply)) return reply;
  const { nextCursor } = reply.pagination;
  if (!nextCursor) return reply;
  const bound = bindCursor({ row, params, query: queryValues as object, caller: session.caller }, nextCursor);
  if (reply instanceof RenderedPage) return new RenderedPage(reply.records, { ...reply.pagination, nextCursor: bound });
  return { ...reply, pagination: { ...reply.pagination, nextCursor: bound } };
}

type PageReply = { pagination: { nextCursor: string | null } };

function isPage(reply: unknown): reply is PageReply {
  return typeof reply === "object" && reply !== null && "pagination" in reply;
}
