import type { Database } from "@muster/db";
import { AppError, systemCaller } from "@muster/kit";
import { announceAgent } from "../emits/agent-facts.ts";
import { afterChange } from "../emits/changes.ts";
import { type EdgeAgentRow, findAgentByDigest, lockAgentToken, promoteAgentToken } from "../store/agent-tokens.ts";

/**
 * The agent of a digest, or null for an unknown token. The first use of a token from a rotation ends the previous
 * token: by the time this resolves, no gateway admits that one. Throws `agent_token_revoked`.
 */
export async function resolveAgent(db: Database, digest: Uint8Array, now: Date): Promise<EdgeAgentRow | null> {
  const row = await findAgentByDigest(db, digest);
  if (!row) return null;
  // A deleted tenant's tokens keep their rows until the purge, as many as they are.
  if (row.is_revoked || row.org_status === "deleted" || row.partner_status === "deleted") throw revoked();
  if (!row.is_next) return row;
  const change = await db.tx({ caller: systemCaller("identity"), actsFor: row.org_id }, async (tx) => {
    const before = await lockAgentToken(tx, row.device_id);
    // A concurrent first use won, or a rotation replaced this token.
    if (!before?.next_digest?.equals(Buffer.from(digest))) return null;
    const after = await promoteAgentToken(tx, row.device_id, now);
    // The first token has no predecessor.
    return before.generation === 0 ? null : announceAgent(tx, after, [before.digest]);
  });
  if (change !== null) await afterChange({ db }, [change]);
  const current = await findAgentByDigest(db, digest);
  if (current?.is_revoked) throw revoked();
  return current;
}

function revoked(): AppError {
  return new AppError("agent_token_revoked", "Agent token is revoked");
}
