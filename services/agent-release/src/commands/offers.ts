import type { Device } from "../rules/gate.ts";
import type { NewAttempt } from "../store/attempts.ts";
import type { Plan } from "./plan-memory.ts";

/** An update as an agent gets it. */
export type Offer = {
  attemptId: string;
  component: string;
  version: string;
  os: string;
  arch: string;
  size: number;
  sha256: string;
  manifest: string | null;
  /** How the keys of manifests were exchanged, oldest first; empty for an unsigned release. */
  rootNotes: readonly string[];
};

/** The offer of an attempt that the gate permits; null when the release has no file for the device. */
export function offerOf(
  plan: Plan,
  attempt: Pick<NewAttempt, "id" | "component" | "version" | "release_id">,
  device: Device,
): Offer | null {
  const release = plan.offered.get(attempt.release_id);
  const artifact = release?.artifacts.get(`${device.os}/${device.arch}`);
  if (!artifact) return null;
  const { component, version } = attempt;
  const manifest = release?.manifest ?? null;
  const rootNotes = manifest ? plan.rootNotes : [];
  return { attemptId: attempt.id, component, version, ...artifact, manifest, rootNotes };
}
