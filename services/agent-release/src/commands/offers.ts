import { type Component, platformOf } from "../rules/component.ts";
import type { Device } from "../rules/plan.ts";
import { compareVersions, parseVersion } from "../rules/version.ts";
import type { NewAttempt } from "../store/attempts.ts";
import type { Plan } from "./plan-memory.ts";

/** An update as an agent gets it. */
export type Offer = {
  attemptId: string;
  component: Component;
  version: string;
  os: string;
  arch: string;
  libc: string;
  size: number;
  sha256: string;
  manifest: string | null;
  /** How the keys of manifests were exchanged, oldest first; empty for an unsigned release. */
  rootNotes: readonly string[];
  /** Permits the agent to install a version that is older than the one it runs. */
  rollbackNote: string | null;
};

/**
 * The offer of an attempt that the gate permits; null when the release has no file for the device. `rollbackNote` is
 * that of the device's pin; its rollout may have one of its own.
 */
export function offerOf(
  plan: Plan,
  attempt: Pick<NewAttempt, "id" | "component" | "version" | "release_id" | "rollout_id" | "from_version">,
  device: Device,
  rollbackNote: string | null,
): Offer | null {
  const release = plan.offered.get(attempt.release_id);
  const artifact = release?.artifacts.get(platformOf(device));
  if (!artifact) return null;
  const { component, version } = attempt;
  const manifest = release?.manifest ?? null;
  const rootNotes = manifest ? plan.rootNotes : [];
  const from = parseVersion(attempt.from_version);
  const goesBack = from !== null && compareVersions(from, version) > 0;
  const note = goesBack ? (plan.noteOf(attempt.rollout_id) ?? rollbackNote) : null;
  return { attemptId: attempt.id, component, version, ...artifact, manifest, rootNotes, rollbackNote: note };
}
