import { NoteError, type NoteVerifier, openNote } from "@muster/kit";

export const components = ["agent", "watchdog", "helper"] as const;
export type Component = (typeof components)[number];

/** What a heartbeat's reply offers. */
export type Offer = {
  attemptId: string;
  component: Component;
  version: string;
  url: string;
  size: number;
  sha256: string;
  /** Signed note; null when the release has none. */
  manifest: string | null;
  /** Root notes, oldest first. */
  rootNotes: readonly string[];
};

/** Reasons that heartbeats name and the platform knows. */
export type Refusal =
  | "bad_signature"
  | "bad_digest"
  | "bad_size"
  | "older_counter"
  | "expired"
  | "wrong_component"
  | "download_failed";

/** The agent refuses an offer. */
export class UpdateRefused extends Error {
  readonly reason: Refusal;
  constructor(reason: Refusal, message: string) {
    super(message);
    this.name = "UpdateRefused";
    this.reason = reason;
  }
}

type Manifest = {
  version: string;
  component: string;
  counter: number;
  expires?: string;
  artifacts: { os: string; arch: string; size: number; sha256: string }[];
};

/** The facts by which an agent judges an offer. */
export type Judging = {
  /** Keys that it trusts; without any it accepts unsigned offers. */
  keys: readonly NoteVerifier[];
  os: string;
  arch: string;
  /** The highest counter of this component's manifests that it installed. */
  counter: number;
  now: Date;
};

/**
 * The counter of an offer's manifest, once a trusted key signed it, for this component, version and platform, with
 * these bytes, neither expired nor older than one before. Throws UpdateRefused.
 */
export function checkOffer(offer: Offer, { keys, os, arch, counter, now }: Judging): number {
  if (keys.length === 0) return counter;
  const manifest = openedManifest(offer.manifest, keys);
  const { component, version } = manifest;
  if (component !== offer.component || version !== offer.version) {
    throw new UpdateRefused("wrong_component", `the manifest is of ${component} ${version}`);
  }
  if (manifest.expires !== undefined && !(new Date(manifest.expires) > now)) {
    throw new UpdateRefused("expired", `the manifest expired ${manifest.expires}`);
  }
  if (!(manifest.counter >= counter)) {
    throw new UpdateRefused("older_counter", `counter ${manifest.counter} after ${counter}`);
  }
  const artifact = manifest.artifacts.find((each) => each.os === os && each.arch === arch);
  if (!artifact) throw new UpdateRefused("wrong_component", `the manifest has nothing for ${os}/${arch}`);
  if (artifact.size !== offer.size) throw new UpdateRefused("bad_size", "the manifest names another size");
  if (artifact.sha256 !== offer.sha256) throw new UpdateRefused("bad_digest", "the manifest names another digest");
  return manifest.counter;
}

function openedManifest(note: string | null, keys: readonly NoteVerifier[]): Manifest {
  try {
    const manifest = JSON.parse(openNote(note ?? "", keys).text) as Manifest;
    if (!Array.isArray(manifest.artifacts)) throw new UpdateRefused("bad_signature", "the manifest is malformed");
    return manifest;
  } catch (error) {
    if (error instanceof UpdateRefused) throw error;
    const why = error instanceof NoteError ? error.message : "the manifest is not JSON";
    throw new UpdateRefused("bad_signature", why);
  }
}

/** The first offer of a heartbeat's reply; null when it has none that this agent understands. */
export function offerIn(body: Record<string, unknown>): Offer | null {
  const [offer] = (Array.isArray(body.updates) ? body.updates : []) as Partial<Offer>[];
  const component = components.find((each) => each === offer?.component);
  if (!offer || !component || typeof offer.url !== "string" || typeof offer.sha256 !== "string") return null;
  return { ...(offer as Offer), manifest: offer.manifest ?? null, rootNotes: offer.rootNotes ?? [] };
}
