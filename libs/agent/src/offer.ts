import { NoteError, type NoteVerifier, openNote } from "@muster/kit/agent";
import { isSameVersion } from "./version.ts";

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

/** A file of a manifest. A file that travels compressed names what is inside. */
export type ManifestArtifact = {
  os: string;
  arch: string;
  size: number;
  sha256: string;
  name: string;
  encoding?: string;
  program?: { size: number; sha256: string };
};

export type Manifest = {
  version: string;
  component: string;
  /** 0 when the manifest has none. */
  counter: number;
  expires?: string;
  artifacts: ManifestArtifact[];
};

/** The facts by which an agent validates an offer. */
export type OfferFacts = {
  /** Keys that it trusts; without any it accepts unsigned offers. */
  keys: readonly NoteVerifier[];
  os: string;
  arch: string;
  /** The highest counter of this component's manifests that it installed. */
  counter: number;
  now: Date;
};

/** What an agent stores of an offer that it accepts. */
export type AcceptedOffer = { counter: number; artifact: ManifestArtifact };

/**
 * Counter and file of an offer's manifest, once a trusted key signed it, for this component, version and platform, with
 * these bytes, neither expired nor older than one before. Without keys an offer without a manifest is accepted, too.
 * Throws UpdateRefused.
 */
export function checkOffer(offer: Offer, { keys, os, arch, counter, now }: OfferFacts): AcceptedOffer {
  const manifest = manifestOf(offer, keys);
  if (manifest === null) {
    const { size, sha256, component } = offer;
    return { counter, artifact: { os, arch, size, sha256, name: component } };
  }
  const { component, version } = manifest;
  if (component !== offer.component || !isSameVersion(version, offer.version)) {
    throw new UpdateRefused("wrong_component", `the manifest is of ${component} ${version}`);
  }
  const artifact = manifest.artifacts.find((each) => each.os === os && each.arch === arch);
  if (!artifact) throw new UpdateRefused("wrong_component", `the manifest has nothing for ${os}/${arch}`);
  if (manifest.expires !== undefined && !(new Date(manifest.expires) > now)) {
    throw new UpdateRefused("expired", `the manifest expired ${manifest.expires}`);
  }
  if (!(manifest.counter >= counter)) {
    throw new UpdateRefused("older_counter", `counter ${manifest.counter} after ${counter}`);
  }
  if (artifact.size !== offer.size) throw new UpdateRefused("bad_size", "the manifest names another size");
  if (artifact.sha256 !== offer.sha256) throw new UpdateRefused("bad_digest", "the manifest names another digest");
  return { counter: manifest.counter, artifact };
}

/** The manifest of an offer; null when no key is trusted and it has none. Throws UpdateRefused. */
function manifestOf({ manifest: note }: Offer, keys: readonly NoteVerifier[]): Manifest | null {
  if (keys.length > 0) return openManifest(note ?? "", keys);
  return note === null ? null : parseManifest(note.split("\n\n")[0] ?? "");
}

/** Opens a manifest that one of the keys signed. Throws UpdateRefused "bad_signature". */
export function openManifest(note: string, keys: readonly NoteVerifier[]): Manifest {
  try {
    return parseManifest(openNote(note, keys).text);
  } catch (error) {
    if (error instanceof NoteError) throw new UpdateRefused("bad_signature", error.message);
    throw error;
  }
}

/** Reads the line of a manifest. Throws UpdateRefused "bad_signature", as for any note that is not one. */
export function parseManifest(text: string): Manifest {
  let json: unknown = null;
  try {
    json = JSON.parse(text);
  } catch {
    // Refused below, as any other text that is no manifest.
  }
  const { version, component, counter = 0, expires, artifacts } = (json ?? {}) as Partial<Manifest>;
  const isWhole = typeof version === "string" && typeof component === "string" && Array.isArray(artifacts);
  if (!isWhole || !Number.isSafeInteger(counter) || !(expires === undefined || typeof expires === "string")) {
    throw new UpdateRefused("bad_signature", "the manifest is malformed");
  }
  return { version, component, counter, expires, artifacts };
}

/** The first offer of a heartbeat's reply; null when it has none that this agent understands. */
export function offerIn(body: Record<string, unknown>): Offer | null {
  const [offer] = (Array.isArray(body.updates) ? body.updates : []) as Partial<Offer>[];
  const component = components.find((each) => each === offer?.component);
  const { version, url, size, sha256 } = offer ?? {};
  const isWhole = typeof version === "string" && typeof url === "string" && Number.isSafeInteger(size);
  if (!offer || !component || !isWhole || !/^[0-9a-f]{64}$/.test(String(sha256))) return null;
  return { ...(offer as Offer), manifest: offer.manifest ?? null, rootNotes: offer.rootNotes ?? [] };
}
