import type { Health } from "@muster/kit";
import type { DirectoryRow } from "./directory.ts";

/** Share of refused requests of a cycle from which a directory is failing. */
const failingShare = 0.5;

/** The health of a directory, by the first rule that holds (docs/behaviour.md#attention). */
export function directoryHealth({
  status,
  tokens,
  last_cycle: cycle,
  roles_pending: pending,
}: Pick<DirectoryRow, "status" | "tokens" | "last_cycle" | "roles_pending">): Health {
  if (status === "paused") return { status: "healthy", reason: "Paused by its users." };
  // One that never called may send its groups as claims alone.
  if (cycle === null) return { status: "healthy", reason: "It has sent no request yet." };
  if (tokens.length === 0) {
    return { status: "unreachable", reason: "It has no valid token: all of its requests are refused." };
  }
  if (cycle.refused >= cycle.requests * failingShare) {
    const reason = `${cycle.refused} of ${cycle.requests} requests since ${new Date(cycle.startedAt).toISOString()} were refused.`;
    return { status: "failing", reason };
  }
  if (pending > 0) return { status: "slow", reason: `${pending} users wait for their role.` };
  return { status: "healthy", reason: "Last requests accepted." };
}
