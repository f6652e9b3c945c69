import type { Client } from "@connectrpc/connect";
import type { ScimService } from "@muster/proto/muster/identity/v1/scim_pb";
import { callOptions } from "@muster/rpc";
import type { ReportRefusal } from "../auth/refusals.ts";
import type { Exchange, ExchangeOptions } from "./exchange.ts";
import { scimErrorReply } from "./scim-errors.ts";
import { metaOf } from "./upstream.ts";

const timeoutMs = 5_000;
const basePath = "/scim/v2";

/** What a directory asked, as its log names it: "PATCH /Users/:id". */
export const scimOperation = ({ served: { row } }: Pick<Exchange, "served">): string =>
  `${row.method} ${row.path.slice(basePath.length)}`;

/**
 * Has requests that this gateway refuses logged by identity, which logs those that it serves or refuses itself
 * (docs/directory.md#log): each operation of a token with the same answer once a minute.
 */
export function createScimRefusals(
  scim: Pick<Client<typeof ScimService>, "noteScimRefusal">,
  report: ReportRefusal,
): ExchangeOptions["noteScimRefusal"] {
  return (options, exchange, error) => {
    const { session, rawParams, requestId } = exchange;
    // Without one, identity has refused the token.
    if (session?.kind !== "directory") return;
    const { code, body } = scimErrorReply(error, requestId);
    const { scimType = "", detail } = JSON.parse(body) as { scimType?: string; detail: string };
    const operation = scimOperation(exchange);
    const refusal = { digest: session.digest, operation, id: rawParams.id ?? "", code, scimType, detail };
    report({
      owner: session.caller.orgId ?? session.caller.partnerId ?? session.id,
      actorId: session.tokenId,
      what: `${operation} ${code}`,
      async send() {
        const meta = { ...metaOf(options, exchange), idempotencyKey: null };
        const call = callOptions({ caller: session.caller, meta, deadlineMs: performance.now() + timeoutMs });
        return scim.noteScimRefusal(refusal, call);
      },
    });
  };
}
