import type { Answered } from "../route/reply.ts";
import type { Exchange, ExchangeOptions } from "./exchange.ts";
import { publicError } from "./public-error.ts";
import { rpcOf } from "./upstream.ts";

/** What a row that browsers open as a page answers instead of the error body; null for other rows. */
export async function ownRefusal(
  options: ExchangeOptions,
  exchange: Exchange,
  thrown: unknown,
): Promise<Answered | null> {
  const { refused } = exchange.served.row;
  if (refused === undefined) return null;
  const { code } = publicError(thrown);
  return refused({ code, ends: exchange.ends, rpc: rpcOf(options, exchange) }, options.deps);
}
