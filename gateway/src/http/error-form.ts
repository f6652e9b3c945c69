import { type ErrorReply, errorReply } from "../errors.ts";
import { jsonType } from "../route/reply.ts";
import type { Route } from "../route/route.ts";
import { otlpErrorReply } from "./otlp-errors.ts";
import { isScimTarget, scimErrorReply, scimType } from "./scim-errors.ts";

/** A failed request: its target, the row that it found, if any, and the Content-Type that it named. */
export type Failed = { target: string; row: Pick<Route, "dialect"> | null; contentType: string | null };

export type FormedError = Omit<ErrorReply, "body"> & { body: string | Buffer; contentType: string };

/** A failure in the form that the clients of its row read. SCIM has one address, also where no row is. */
export function formedError({ target, row, contentType }: Failed, error: unknown, requestId: string): FormedError {
  if (isScimTarget(target)) return { ...scimErrorReply(error, requestId), contentType: scimType };
  if (row?.dialect === "otlp") return otlpErrorReply(error, requestId, contentType);
  return { ...errorReply(error, requestId), contentType: jsonType };
}
