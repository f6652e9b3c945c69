import { fieldsOf, NoteError, type NoteVerifier, openNote } from "@muster/kit/agent";
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
  /** Signed note that permits an older version; null for a newer one. */
  rollbackNote: string | null;
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
  /** C library of a Linux program; absent: gnu. */
  libc?: string;
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
  libc?: string | undefined;
  /** Counter of the manifest of this component that it installed last. */
  counter: number;
  /** Organization of the device; null before it is enrolled. */
  orgId: string | null;
  now: Date;
};

/** Bytes of a file, packed and as a program: what claims more would fill the disk. */
const fileBytesMax = 1024 * 1024 * 1024;

/** What an agent stores of an offer that it accepts. */
export type AcceptedOffer = { counter: number; artifact: ManifestArtifact };

/**
 * Counter and file of an offer's manifest, once a trusted key signed it, for this component, version and platform, with
 * these bytes, neither expired nor, without a rollback note, older than one before. Without keys an offer without a
 * manifest is accepted, too. Throws UpdateRefused.
 */
export function checkOffer(offer: Offer, facts: OfferFacts): AcceptedOffer {
  const { keys, os, arch, libc = "gnu", counter, now } = facts;
  if (!(offer.size > 0) || offer.size > fileBytesMax) throw new UpdateRefused("bad_size", `${offer.size} bytes`);
  const manifest = manifestOf(offer, keys);
  if (manifest === null) {
    const { size, sha256, component } = offer;
    return { counter, artifact: { os, arch, size, sha256, name: component } };
  }
  const { component, version } = manifest;
  if (component !== offer.component || !isSameVersion(version, offer.version)) {
    throw new UpdateRefused("wrong_component", `the manifest is of ${component} ${version}`);
  }
  const artifact = manifest.artifacts.find(
    (each) => each.os === os && each.arch === arch && (each.libc ?? "gnu") === libc,
  );
  if (!artifact) throw new UpdateRefused("wrong_component", `the manifest has nothing for ${os}/${arch} (${libc})`);
  if (manifest.expires !== undefined && !(new Date(manifest.expires) > now)) {
    throw new UpdateRefused("expired", `the manifest expired ${manifest.expires}`);
  }
  if (!(manifest.counter >= counter) && !mayGoBack(offer, facts)) {
    throw new UpdateRefused("older_counter", `counter ${manifest.counter} after ${counter}`);
  }
  if (artifact.size !== offer.size) throw new UpdateRefused("bad_size", "the manifest names another size");
  if (artifact.sha256 !== offer.sha256) throw new UpdateRefused("bad_digest", "the manifest names another digest");
  const program = artifact.program?.size ?? artifact.size;
  if (!(program > 0) || program > fileBytesMax) throw new UpdateRefused("bad_size", `a program of ${program} bytes`);
  return { counter: manifest.counter, artifact };
}

/** Whether a rollback note of a trusted key permits the offered version to this device. */
function mayGoBack(
  { component, version, rollbackNote }: Offer,
  { keys, counter, orgId, now }: Pick<OfferFacts, "keys" | "counter" | "orgId" | "now">,
): boolean {
  const note = rollbackNote === null ? null : rollbackIn(rollbackNote, keys);
  if (note === null || note.component !== component || !isSameVersion(note.version, version)) return false;
  const isInScope = note.scope === "*" || note.scope.toLowerCase() === orgId;
  return isInScope && note.counter >= counter && new Date(note.expires) > now;
}

type RollbackNote = { component: string; version: string; counter: number; scope: string; expires: string };

/** Opens a rollback note; null when no key signed it, or it is not one. */
function rollbackIn(text: string, keys: readonly NoteVerifier[]): RollbackNote | null {
  let json: unknown = null;
  try {
    // Without keys notes are as little verified as manifests are.
    json = JSON.parse(keys.length > 0 ? openNote(text, keys).text : (text.split("\n\n")[0] ?? ""));
  } catch {
    return null;
  }
  const { component, version, counter, scope, expires } = fieldsOf(json);
  const isNamed = typeof component === "string" && typeof version === "string";
  const isBound = typeof counter === "number" && typeof scope === "string" && typeof expires === "string";
  return isNamed && isBound ? { component, version, counter, scope, expires } : null;
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
  const { manifest = null, rootNotes = [], rollbackNote = null } = offer;
  return { ...(offer as Offer), manifest, rootNotes, rollbackNote };
}
