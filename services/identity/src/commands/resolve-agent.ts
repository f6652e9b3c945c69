import type { Database } from "@muster/db";
import { AppError, systemCaller } from "@muster/kit";
import { announceAgent } from "../emits/agent-facts.ts";
import { afterChange } from "../emits/changes.ts";
import { type EdgeAgentRow, findAgentByDigest, lockAgentToken, promoteAgentToken } from "../store/agent-tokens.ts";

/**
 * The agent behind a digest, or null when nobody has that token. The first use of a token that a rotation handed out ends the one before it:
 * by the time this resolves no gateway admits that any more. Throws `agent_token_revoked`.
 */
export async function resolveAgent(db: Database, digest: Uint8Array, now: Date): Promise<EdgeAgentRow | null> {
  const row = await findAgentByDigest(db, digest);
  if (!row) return null;
  // A deleted tenant's tokens are on their way to be revoked: they are answered as if that had happened.
  if (row.is_revoked || row.org_status === "deleted" || row.partner_status === "deleted") throw revoked();
  if (!row.is_next) return row;
  const change = await db.tx({ caller: systemCaller("identity") }, async (tx) => {
    const before = await lockAgentToken(tx, row.device_id);
    // Somebody else's first use came first, or a rotation took this one's place.
    if (!before?.next_digest?.equals(Buffer.from(digest))) return null;
    const after = await promoteAgentToken(tx, row.device_id, now);
    // Nobody ever had the token before the first one.
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
