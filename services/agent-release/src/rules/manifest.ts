import { NoteError, type NoteVerifier, openNote, parseVerifier } from "@muster/kit";
import { z } from "zod";
import { architectures, components, isSupported, libcs, platformOf, systems } from "./component.ts";
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

const file = z.object({
  size: z.int().min(1).max(artifactBytesMax),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,199}$/),
});

const artifact = file.extend({ os: z.enum(systems), arch: z.enum(architectures), libc: z.enum(libcs).default("gnu") });
/** A manifest may have files for systems that no agent of the platform runs on. */
const platform = z.string().regex(/^[A-Za-z0-9_-]{1,50}$/);
const listed = file
  .extend({ os: platform, arch: platform, libc: z.enum(libcs).optional() })
  .refine(({ os, libc }) => libc !== "musl" || os === "linux", { path: ["libc"], error: "musl is for linux alone" });

const shape = z.object({
  version,
  component: z.enum(components),
  /**
   * Increases with each manifest of a component: agents refuse a manifest with a lower counter than one they have seen.
   */
  counter: z.int().min(0).default(0),
  expires: z.iso.datetime({ offset: true }).optional(),
  minimumVersion: version.optional(),
  artifacts: z.array(listed).min(1).max(artifactsMax),
});

/** A file of a release; `libc` absent: gnu. */
export type ManifestArtifact = z.input<typeof artifact>;
export type Manifest = Omit<z.output<typeof shape>, "artifacts"> & { artifacts: ManifestArtifact[] };
/** A file that is not registered, and why. */
export type Skipped = { asset: string; reason: string };
export const unsupported = ({ os, arch }: { os: string; arch: string }) => `there are no agents for ${os}/${arch}`;

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
): { manifest: Manifest; signed: boolean; skipped: Skipped[] } {
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
  const [artifacts, others] = [
    parsed.data.artifacts.filter(isSupported),
    parsed.data.artifacts.filter((each) => !isSupported(each)),
  ];
  const manifest: Manifest = { ...parsed.data, artifacts: z.array(artifact).parse(artifacts) };
  if (artifacts.length === 0)
    throw new ManifestError(`names no file of a known platform: ${unsupported(others[0] ?? { os: "", arch: "" })}`);
  const [twice] = namedTwice(manifest.artifacts);
  if (twice) throw new ManifestError(`names two files for ${twice.platform}: ${twice.names.join(" and ")}`);
  if (manifest.expires !== undefined && new Date(manifest.expires) <= now) throw new ManifestError("has expired", true);
  const skipped = others.map((each) => ({ asset: each.name, reason: unsupported(each) }));
  return { manifest, signed: keys.length > 0, skipped };
}

/** Platforms with more than one file, each with the names of its files. */
export function namedTwice(artifacts: readonly ManifestArtifact[] | readonly Omit<ManifestArtifact, "size">[]) {
  const names = new Map<string, string[]>();
  for (const artifact of artifacts) {
    const key = platformOf(artifact);
    names.set(key, [...(names.get(key) ?? []), artifact.name]);
  }
  return [...names].filter(([, each]) => each.length > 1).map(([of, each]) => ({ platform: of, names: each }));
}

function verifiedText(text: string, keys: readonly NoteVerifier[]): string {
  try {
    return openNote(text, keys).text;
  } catch (error) {
    if (error instanceof NoteError) throw new ManifestError(error.message, true);
    throw error;
  }
}
