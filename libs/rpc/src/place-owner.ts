import type { CallOptions } from "@connectrpc/connect";
import { type Caller, clientNetwork } from "@muster/kit";
import { metadataNames } from "./metadata.ts";

/**
 * Whose part of the connections a call uses: the organization's, else the partner's, else the user's; for strangers
 * that of their network. Null for the process's own calls.
 */
export function placeOwner(caller: Caller | null, header: CallOptions["headers"]): string | null {
  if (caller !== null && caller.actor.type !== "system") return caller.orgId ?? caller.partnerId ?? caller.actor.id;
  // As `callOptions` makes them: a plain object.
  const address = (header as Record<string, string> | undefined)?.[metadataNames.clientAddress];
  return address === undefined ? null : clientNetwork(address);
}
