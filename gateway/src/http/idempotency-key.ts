import { validationError } from "@muster/kit";
import type { Inbound } from "../request/headers.ts";
import type { Route } from "../route/route.ts";

export const idempotencyKeyHeader = "Idempotency-Key";

const visibleAscii = /^[\x21-\x7e]{1,255}$/;

/**
 * The key of a POST whose repeat is to be answered as the first was, null without one. Throws `validation_failed` for a
 * value that is no key, and on a row that keeps no replies: a client that sent one would repeat in vain trust.
 */
export function idempotencyKeyOf(row: Pick<Route, "method" | "idempotent">, inbound: Inbound): string | null {
  const key = inbound.idempotencyKey;
  if (key === null || row.method !== "POST") return null;
  if (!row.idempotent) throw validationError({ [idempotencyKeyHeader]: ["Not taken by this operation"] });
  if (!visibleAscii.test(key)) {
    throw validationError({ [idempotencyKeyHeader]: ["Must be 1 to 255 visible ASCII characters"] });
  }
  return key;
}
