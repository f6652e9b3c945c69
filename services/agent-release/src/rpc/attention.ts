import type { CallContext } from "@muster/kit";
import { type AttentionRow, type AttentionSource, requirePermission } from "@muster/service";
import { nameOfPart } from "../rules/plan.ts";
import { haltedPartsOfRunning, haltedRollouts } from "../store/halted-rollouts.ts";
import type { PartRow } from "../store/rollout-parts.ts";
import type { ShownRollout } from "../store/rollouts.ts";
import { actAsService, visibleTo } from "./guards.ts";
import { isVisible } from "./rollout-message.ts";

/** Rollouts that halted themselves, as a whole or for a part that the caller sees, for those who may read rollouts. */
export const haltedRolloutSource: AttentionSource = {
  guard: (context) => requirePermission(context, "agent-releases:read"),
  async find(tx, context, orgId, most) {
    const visible = visibleTo(context);
    const [, rows, parts] = await Promise.all([
      actAsService(tx),
      haltedRollouts(tx, visible, orgId, most),
      haltedPartsOfRunning(tx, visible, orgId),
    ]);
    return rows.flatMap((row) => rowOf(context, orgId, row, parts) ?? []);
  },
};

function rowOf(
  { caller }: CallContext,
  orgId: string | null,
  rollout: ShownRollout,
  parts: readonly PartRow[],
): AttentionRow | null {
  const { id, component, version, state, reason, created_at: createdAt, partner_id: partnerId } = rollout;
  const record = { type: "rollout", id, name: `${component} ${version}` };
  const shared = { kind: "rollout" as const, record, orgId: null, partnerId };
  if (state === "halted") {
    return {
      ...shared,
      since: rollout.halted_at ?? createdAt,
      sentence: `Halted: ${reason ?? "too many updates failed"}.`,
    };
  }
  const [first, ...others] = parts.filter(
    (part) =>
      part.rollout_id === id &&
      isVisible(part, caller) &&
      (orgId === null || part.kind === "platform" || part.org_id === orgId),
  );
  if (!first) return null;
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  const sentence = `Halted for ${nameOfPart(first)}${more}: ${first.reason ?? "too many updates failed"}.`;
  return { ...shared, since: first.halted_at ?? createdAt, sentence };
}
