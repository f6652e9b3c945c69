import type { Tx } from "@muster/db";
import { type CallContext, validationError } from "@muster/kit";
import { auditSettings } from "../emits/audit.ts";
import type { Component } from "../rules/component.ts";
import { nothingSet, type Settings } from "../rules/settings.ts";
import { bumpPlan } from "../store/plan.ts";
import { lockReleasesOf } from "../store/releases.ts";
import type { ShownRollout } from "../store/rollouts.ts";
import { lockSettings, putSettings, settingsFor, settingsOf } from "../store/settings.ts";
import type { PlanMemory } from "./plan-memory.ts";
import { requireTrusted, versionNotFound } from "./promote.ts";

/** The version to which a partner has pinned a component for its organizations; null for none. */
export async function pinOfPartner(tx: Tx, partnerId: string, component: Component): Promise<string | null> {
  if (component === "helper") return null;
  const { agentTarget, watchdogTarget } = await settingsOfPartner(tx, partnerId);
  const target = component === "agent" ? agentTarget : watchdogTarget;
  return target === "latest" ? null : target;
}

/**
 * Pins the version of a partner's rollout for all of its organizations without a pin of their own, with the rollout's
 * rollback note. Throws `validation_failed` for the helper, which has no pin, `agent_version_not_found`,
 * `release_untrusted`.
 */
export async function pinForPartner(
  tx: Tx,
  context: CallContext,
  rollout: ShownRollout & { partnerId: string },
  plan: PlanMemory,
  at: Date,
): Promise<void> {
  const { partnerId, component, version, rollback_note: note } = rollout;
  if (component === "helper") throw validationError({ change: ["The helper has no pin: cancel the rollout"] });
  const releases = (await lockReleasesOf(tx, version, component)).filter(({ yanked_at: yanked }) => yanked === null);
  if (releases.length === 0) throw versionNotFound();
  await requireTrusted(tx, plan, releases);
  await lockSettings(tx, partnerId, null);
  const before = await settingsOfPartner(tx, partnerId);
  const { openRollback } = await plan.read(tx, []);
  const held = before.rollbackNote ?? null;
  // The note of an earlier pin of this component permits another version.
  const kept = openRollback(held)?.component === component ? null : held;
  const target = component === "agent" ? { agentTarget: version } : { watchdogTarget: version };
  const after = { ...before, ...target, rollbackNote: note ?? kept };
  await putSettings(tx, { partnerId, orgId: null }, after, at);
  auditSettings(tx, context, { partnerId, orgId: null }, { before, after }, at);
  await bumpPlan(tx, { scope: "partner", id: partnerId });
}

async function settingsOfPartner(tx: Tx, partnerId: string): Promise<Settings> {
  const row = (await settingsFor(tx, partnerId, null)).find(({ org_id: orgId }) => orgId === null);
  return row ? settingsOf(row) : nothingSet;
}
