import type { CallOptions } from "@connectrpc/connect";
import { type Caller, clientNetwork, fieldsOf } from "@muster/kit";
import { metadataNames } from "../caller/metadata.ts";

/**
 * The owner whose fair share of the connections a call uses: the organization, else the partner, else the user; without
 * a credential the client's network. Null for the process's own calls.
 */
export function slotOwner(caller: Caller | null, header: CallOptions["headers"]): string | null {
  if (caller !== null && caller.actor.type !== "system") return caller.orgId ?? caller.partnerId ?? caller.actor.id;
  // As `callOptions` makes them: a plain object.
  const address = fieldsOf(header)[metadataNames.clientAddress];
  return typeof address === "string" ? clientNetwork(address) : null;
}
