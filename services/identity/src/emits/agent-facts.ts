import type { Tx } from "@muster/db";
import type { AgentTokenRow } from "../store/agent-tokens.ts";
import { announce } from "./changes.ts";

/**
 * Notifies the gateways that an agent is not what it was; `ended` is a token that just stopped counting. The id of the
 * change.
 */
export function announceAgent(tx: Tx, after: AgentTokenRow, ended: readonly Buffer[] = []): string {
  const digests = [after.digest, after.next_digest, ...ended].filter((digest) => digest !== null);
  return announce(tx, {
    kind: "agent",
    deviceId: after.device_id,
    digests,
    version: after.version,
    revoked: after.revoked_at !== null,
  });
}
