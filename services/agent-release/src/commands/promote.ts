import type { Tx } from "@muster/db";
import { AppError, type CallContext } from "@muster/kit";
import { auditRelease } from "../emits/audit.ts";
import type { Component } from "../rules/component.ts";
import { sentenceOf } from "../rules/release-trust.ts";
import { notSigned } from "../rules/trust.ts";
import { compareVersions } from "../rules/version.ts";
import { bumpPlan } from "../store/plan.ts";
import { lockPromotion, setPromotion } from "../store/promotions.ts";
import { countersOfComponent, lockReleasesOf, type ReleaseRow } from "../store/releases.ts";
import type { PlanMemory } from "./plan-memory.ts";

type Who = Pick<CallContext, "caller" | "meta">;
export type PromotedComponent = { component: Component; previousVersion: string | null };

/**
 * Makes a version the target of its components, or of one; agent first. An older version is accepted, too. Throws
 * `agent_version_not_found` for an unknown or yanked one, `release_untrusted` for one that agents would refuse.
 */
export async function promoteVersion(
  tx: Tx,
  who: Who,
  { version, component, plan }: { version: string; component: Component | null; plan: PlanMemory },
  at: Date,
): Promise<PromotedComponent[]> {
  const releases = (await lockReleasesOf(tx, version, component)).filter(({ yanked_at: yanked }) => yanked === null);
  if (releases.length === 0) throw versionNotFound();
  await requireTrusted(tx, plan, releases);
  const promoted: PromotedComponent[] = [];
  for (const release of releases) {
    const before = await lockPromotion(tx, release.component);
    promoted.push({ component: release.component, previousVersion: before.version });
    if (before.release_id !== release.id) await promote(tx, who, release, before.version, at);
  }
  await bumpPlan(tx, { scope: "all" });
  return promoted;
}

/**
 * Throws `release_untrusted` for a release that agents would refuse. Reads the plan: call it before the plan changes.
 */
export async function requireTrusted(tx: Tx, plan: PlanMemory, releases: readonly ReleaseRow[]): Promise<void> {
  const { untrusted } = await plan.read(tx, []);
  for (const { id, version } of releases) {
    const reason = untrusted.get(id);
    if (reason !== undefined) throw notSigned(`${version} ${reason}`);
  }
}

/** Why agents would refuse a release that was just registered: its counter is lower than an older version's. */
export async function lowerCounterOf(tx: Tx, release: ReleaseRow): Promise<string | null> {
  const others = await countersOfComponent(tx, release.component);
  const higher = others.find(
    ({ counter, version }) => counter > release.counter && compareVersions(version, release.version) < 0,
  );
  return higher && release.manifest !== null ? sentenceOf(release.counter, higher) : null;
}

/**
 * Promotes a release that was just registered, unless the fleet's target is as new, it is a pre-release, or agents
 * would refuse it.
 */
export async function promoteForward(tx: Tx, who: Who, release: ReleaseRow, at: Date): Promise<boolean> {
  if (release.prerelease) return false;
  const { version } = await lockPromotion(tx, release.component);
  if (version !== null && compareVersions(release.version, version) <= 0) return false;
  if ((await lowerCounterOf(tx, release)) !== null) return false;
  await promote(tx, who, release, version, at);
  return true;
}

async function promote(tx: Tx, who: Who, release: ReleaseRow, previous: string | null, at: Date): Promise<void> {
  await setPromotion(tx, release.component, { releaseId: release.id, by: who.caller.actor.id, at });
  const details = { component: release.component, version: release.version, previousVersion: previous };
  const name = `${release.component} ${release.version}`;
  auditRelease(tx, who, { action: "agent_version.promote", id: release.id, name, details }, at);
}

export function versionNotFound(): AppError {
  return new AppError("agent_version_not_found", "Agent version not found");
}
