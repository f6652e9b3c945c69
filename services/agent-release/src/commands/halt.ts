import type { Tx } from "@muster/db";
import { counter } from "@muster/kit";
import { asItself, auditRelease } from "../emits/audit.ts";
import { nameOfPart } from "../rules/plan.ts";
import { type AttemptRow, failuresByOrganization } from "../store/attempts.ts";
import { addHaltNotice } from "../store/halt-notices.ts";
import type { PartRow } from "../store/rollout-parts.ts";
import type { RolloutRow } from "../store/rollouts.ts";

const halts = counter(
  "muster_agent_release_rollouts_halted_total",
  "Rollouts, or parts of them, that halted themselves.",
);

/** Organizations named in a halt's audit row, those with the most failures first. */
const namedOrganizations = 10;

/** Halts a rollout for all devices. `attempt` is the last that failed, with its reason. */
export async function haltRollout(
  tx: Tx,
  rollout: RolloutRow,
  attempt: AttemptRow,
  lastReason: string,
  now: Date,
): Promise<void> {
  // When all failures are of one organization, the cause may be that organization, and the user who resumes must know
  // it. Partners read the reason, too, so that only the audit row has the names.
  const failing = await failuresByOrganization(tx, rollout.id);
  const ofOne = failing.length === 1 ? ", all of one organization" : "";
  rollout.state = "halted";
  rollout.reason = `${rollout.failed - rollout.failures_before_resume} failures${ofOne}, the last: ${lastReason}`;
  const organizations = failing.slice(0, namedOrganizations).map(({ org_id: id, failed }) => ({ id, failed }));
  const details = { ...countsOf(rollout), reason: rollout.reason, organizations };
  await noteHalt(tx, rollout, attempt, details, now);
}

/** Halts a rollout for one organization, or for one os/arch; its reason says which kind of part. */
export async function haltPart(
  tx: Tx,
  rollout: RolloutRow,
  part: PartRow,
  attempt: AttemptRow,
  lastReason: string,
  now: Date,
): Promise<void> {
  const failed = part.failed - part.failures_before_resume;
  part.halted_at = now;
  part.reason = `${failed} of ${failed + part.succeeded} updates failed, the last: ${lastReason}`;
  rollout.reason = `halted for ${nameOfPart(part)}: ${part.reason}`;
  const about = part.kind === "organization" ? { orgId: part.org_id } : { platform: part.name };
  const details = { ...countsOf(part), ...about, part: nameOfPart(part), reason: part.reason };
  await noteHalt(tx, rollout, attempt, details, now);
}

function countsOf({ failed, succeeded, in_flight: inFlight }: RolloutRow | PartRow) {
  return { failed, succeeded, inFlight };
}

/** Its audit row, and the line of the mail to the people of its owner. */
async function noteHalt(
  tx: Tx,
  rollout: RolloutRow,
  { component, version }: AttemptRow,
  details: Record<string, unknown>,
  now: Date,
): Promise<void> {
  halts.inc();
  await addHaltNotice(tx, rollout, `${component} ${version}: ${rollout.reason}`, now);
  const { id, partner_id: partnerId } = rollout;
  const fact = { action: "agent_update.rollout.halt", id, name: `${component} ${version}`, partnerId };
  auditRelease(tx, asItself(), { ...fact, details: { component, version, kind: rollout.kind, ...details } }, now);
}
