import { NoteError, type NoteVerifier, openNote, parseVerifier } from "@muster/kit";
import { z } from "zod";
import { architectures, components, systems } from "./component.ts";
import { parseVersion } from "./version.ts";

/** Largest binary, in bytes. */
export const artifactBytesMax = 1024 ** 3;
export const artifactsMax = 64;
/** Characters of a manifest, signatures included. */
export const manifestMax = 64 * 1024;

const version = z.string().transform((text, { addIssue }) => {
  const parsed = parseVersion(text);
  if (parsed === null) addIssue({ code: "custom", message: "Must be a semantic version" });
  return parsed ?? "";
});

const artifact = z.object({
  os: z.enum(systems),
  arch: z.enum(architectures),
  size: z.int().min(1).max(artifactBytesMax),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,199}$/),
});

const shape = z.object({
  version,
  component: z.enum(components),
  /**
   * Increases with each manifest of a component: agents refuse a manifest with a lower counter than one they have seen.
   */
  counter: z.int().min(0).default(0),
  expires: z.iso.datetime({ offset: true }).optional(),
  minimumVersion: version.optional(),
  artifacts: z.array(artifact).min(1).max(artifactsMax),
});

export type Manifest = z.output<typeof shape>;
export type ManifestArtifact = Manifest["artifacts"][number];

/** Why nothing is registered in production without keys. */
export const noKeys = "cannot be verified: RELEASE_MANIFEST_KEYS is empty";

/** Why a manifest registers nothing. `untrusted`: its signature is missing or not of a known key. */
export class ManifestError extends Error {
  readonly untrusted: boolean;
  constructor(message: string, untrusted = false) {
    super(message);
    this.name = "ManifestError";
    this.untrusted = untrusted;
  }
}

/**
 * The keys of setting RELEASE_MANIFEST_KEYS, `name+hash+base64[,…]`; none when it is empty. Throws on anything else.
 */
export function manifestKeys(setting: string): NoteVerifier[] {
  return setting
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
    .map(parseVerifier);
}

/**
 * Reads a manifest: a C2SP signed note over one JSON line. With keys one of them must have signed it, and it must not
 * have expired; without keys the line counts, signed or not, where releases may be unsigned. Throws ManifestError.
 */
export function openManifest(
  text: string,
  keys: readonly NoteVerifier[],
  now: Date,
  unsigned: boolean,
): { manifest: Manifest; signed: boolean } {
  if (text.length > manifestMax) throw new ManifestError(`longer than ${manifestMax} characters`);
  if (keys.length === 0 && !unsigned) throw new ManifestError(noKeys, true);
  const line = keys.length > 0 ? verifiedText(text, keys) : (text.split("\n\n")[0] ?? "");
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    throw new ManifestError("is not one line of JSON");
  }
  const parsed = shape.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ManifestError(`${issue?.path.join(".") || "the manifest"}: ${issue?.message ?? "is malformed"}`);
  }
  const manifest = parsed.data;
  const platforms = manifest.artifacts.map(({ os, arch }) => `${os}/${arch}`);
  if (new Set(platforms).size !== platforms.length) throw new ManifestError("names a platform twice");
  if (manifest.expires !== undefined && new Date(manifest.expires) <= now) throw new ManifestError("has expired", true);
  return { manifest, signed: keys.length > 0 };
}

function verifiedText(text: string, keys: readonly NoteVerifier[]): string {
  try {
    return openNote(text, keys).text;
  } catch (error) {
    if (error instanceof NoteError) throw new ManifestError(error.message, true);
    throw error;
  }
}
