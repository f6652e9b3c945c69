import type { Tx } from "@muster/db";
import { AppError, type CallContext, uuidv7 } from "@muster/kit";
import { auditRelease } from "../emits/audit.ts";
import { platformOf } from "../rules/component.ts";
import type { Manifest } from "../rules/manifest.ts";
import { guardLimits } from "../rules/rollout.ts";
import { isPrerelease } from "../rules/version.ts";
import { bumpPlan } from "../store/plan.ts";
import { artifactsOf, countReleases, insertRelease, lockReleasesOf, type ReleaseRow } from "../store/releases.ts";
import { insertRollout } from "../store/rollouts.ts";
import { promoteForward } from "./promote.ts";

type Who = Pick<CallContext, "caller" | "meta">;

/** A release that was checked, file by file. */
export type Prepared = {
  manifest: Manifest;
  signed: boolean;
  /** Its publisher says so; a version such as 1.2.0-rc.1 says so by itself. */
  prerelease: boolean;
  /** The signed note; null when there was none. */
  note: string | null;
  source: string;
  notesUrl: string | null;
  /** By file name. */
  files: ReadonlyMap<string, { url: string | null; stored: boolean }>;
};

const releasesMax = 1_000;

/**
 * Registers a release and its guard, and promotes it forward when `autoPromote`. Null when the component already has
 * that version with the same files. Throws `release_exists` when the files differ, `limit_reached` beyond 1,000 of a
 * component.
 */
export async function registerRelease(
  tx: Tx,
  who: Who,
  prepared: Prepared,
  { autoPromote, action }: { autoPromote: boolean; action: "agent_version.register" | "agent_version.sync" },
  at: Date,
): Promise<ReleaseRow | null> {
  const { manifest, signed, prerelease, note, source, notesUrl, files } = prepared;
  const { component, version } = manifest;
  const row: ReleaseRow = {
    id: uuidv7(at.getTime()),
    component,
    version,
    prerelease: prerelease || isPrerelease(version),
    source,
    manifest: note,
    signed,
    counter: manifest.counter,
    expires_at: manifest.expires === undefined ? null : new Date(manifest.expires),
    minimum_version: manifest.minimumVersion ?? null,
    notes_url: notesUrl,
    created_by: who.caller.actor.id,
    created_at: at,
    yanked_at: null,
  };
  const artifacts = manifest.artifacts.map((artifact) => ({
    ...artifact,
    libc: artifact.libc ?? "gnu",
    source_url: files.get(artifact.name)?.url ?? null,
    stored: files.get(artifact.name)?.stored ?? false,
  }));
  if ((await countReleases(tx, component)) >= releasesMax) {
    throw new AppError("limit_reached", `At most ${releasesMax} versions of a component`, {
      facts: { limit: releasesMax },
    });
  }
  if (!(await insertRelease(tx, row, artifacts))) {
    const [existing] = await lockReleasesOf(tx, version, component);
    const registered = existing ? await artifactsOf(tx, [existing.id]) : [];
    const textOf = (list: readonly { os: string; arch: string; libc: string; sha256: string }[]) =>
      list
        .map((each) => `${platformOf(each)} ${each.sha256}`)
        .sort()
        .join("\n");
    if (textOf(registered) === textOf(artifacts)) return null;
    throw new AppError("release_exists", "This version is registered with other files");
  }
  await insertRollout(tx, {
    id: uuidv7(at.getTime()),
    release_id: row.id,
    kind: "guard",
    state: "running",
    rings: [],
    open_rings: 0,
    percent: 100,
    max_in_flight: guardLimits.maxInFlight,
    halt_failures: guardLimits.haltFailures,
    halt_percent: guardLimits.haltPercent,
    soak_seconds: guardLimits.soakSeconds,
    wave_success_percent: null,
    created_by: row.created_by,
    created_at: at,
  });
  const details = { component, version, source, signed, platforms: artifacts.map(platformOf) };
  auditRelease(tx, who, { action, id: row.id, name: `${component} ${version}`, details }, at);
  if (autoPromote) await promoteForward(tx, who, row, at);
  await bumpPlan(tx, { scope: "all" });
  return row;
}
