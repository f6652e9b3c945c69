import type { Tx } from "@muster/db";
import { AppError, type CallContext } from "@muster/kit";
import { auditRelease } from "../emits/audit.ts";
import { notSigned } from "../rules/trust.ts";
import { compareVersions } from "../rules/version.ts";
import { bumpPlan } from "../store/plan.ts";
import { lockPromotion, setPromotion } from "../store/promotions.ts";
import { lockReleasesOf, type ReleaseRow } from "../store/releases.ts";

type Who = Pick<CallContext, "caller" | "meta">;
export type PromotedComponent = { component: string; previousVersion: string | null };

/**
 * Makes a version the target of its components, or of one; agent first. An older version is accepted, too. Throws
 * `agent_version_not_found` for an unknown or yanked one, `release_untrusted` for an unsigned one unless `unsigned`.
 */
export async function promoteVersion(
  tx: Tx,
  who: Who,
  { version, component, unsigned }: { version: string; component: string | null; unsigned: boolean },
  at: Date,
): Promise<PromotedComponent[]> {
  const releases = (await lockReleasesOf(tx, version, component)).filter(({ yanked_at: yanked }) => yanked === null);
  if (releases.length === 0) throw versionNotFound();
  if (!unsigned && releases.some(({ signed }) => !signed)) throw notSigned(`${version} was registered unsigned`);
  const promoted: PromotedComponent[] = [];
  for (const release of releases) {
    const before = await lockPromotion(tx, release.component);
    promoted.push({ component: release.component, previousVersion: before.version });
    if (before.release_id !== release.id) await promote(tx, who, release, before.version, at);
  }
  await bumpPlan(tx, { scope: "all" });
  return promoted;
}

/** Promotes a release that was just registered, unless the fleet's target is as new or it is a pre-release. */
export async function promoteForward(tx: Tx, who: Who, release: ReleaseRow, at: Date): Promise<boolean> {
  if (release.prerelease) return false;
  const { version } = await lockPromotion(tx, release.component);
  if (version !== null && compareVersions(release.version, version) <= 0) return false;
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
