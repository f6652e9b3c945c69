import type { Database, Tx } from "@muster/db";
import type { CallContext } from "@muster/kit";
import { type AttentionRow, type AttentionSource, requirePermission } from "@muster/service";
import { nameOfPart } from "../rules/plan.ts";
import { haltedParts, type PartRow } from "../store/rollout-parts.ts";
import { haltedRollouts, type RolloutsOf, type ShownRollout } from "../store/rollouts.ts";
import { partnersOfOrganizations } from "../store/tenants.ts";
import { asService, visibleTo } from "./guards.ts";
import { isVisible } from "./rollout-message.ts";

/** Rollouts that halted themselves, as a whole or for a part that the caller sees, for those who may read rollouts. */
export function haltedRolloutSource({ db }: { db: Database }): AttentionSource {
  return {
    kind: "rollout",
    guard: (context) => requirePermission(context, "agent-releases:read"),
    find(context, orgId, most) {
      const read = async (tx: Tx) => {
        const rows = await haltedRollouts(tx, await ownersOf(tx, context, orgId), most);
        const parts = await haltedParts(
          tx,
          rows.map(({ id }) => id),
        );
        return rows.flatMap((row) => rowOf(context, orgId, row, parts) ?? []);
      };
      return db.tx(asService(context), read, { readOnly: true });
    },
  };
}

/** Whose rollouts are shown: those of the organization's partner when one is named. */
async function ownersOf(tx: Tx, context: CallContext, orgId: string | null): Promise<RolloutsOf> {
  const visible = visibleTo(context);
  if (visible.partnerId !== null || orgId === null) return visible;
  return { partnerId: (await partnersOfOrganizations(tx, [orgId])).get(orgId) ?? orgId };
}

function rowOf(
  { caller }: CallContext,
  orgId: string | null,
  rollout: ShownRollout,
  parts: readonly PartRow[],
): AttentionRow | null {
  const { id, component, version, state, reason, created_at: createdAt, partner_id: partnerId } = rollout;
  const shared = { record: { type: "rollout", id, name: `${component} ${version}` }, orgId: null, partnerId };
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
