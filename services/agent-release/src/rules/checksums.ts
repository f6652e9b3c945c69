import { architectures, type Component, components, isSupported, type Libc, systems } from "./component.ts";
import type { ManifestArtifact } from "./manifest.ts";

/** As `sha256sum` writes it: digest, spaces, an asterisk for binary mode, path. */
const line = /^([0-9a-fA-F]{64})[ \t]+\*?(\S+)$/;
/** As BSD's `sha256` and `sha256sum --tag` write it. */
const tagged = /^SHA256 \((\S+)\) ?= ?([0-9a-fA-F]{64})$/;
const platformName = new RegExp(
  `^(?:.*[-_.])?(${components.join("|")})[-_]([A-Za-z0-9]+)[-_]([A-Za-z0-9_]+?)(?:[-_](musl))?(?:\\.exe)?$`,
);

export const manifestName = (component: Component) => `${component}.manifest`;
export const checksumsName = "checksums.txt";
/** Names of a file of checksums, in sentences. */
export const checksumsNames = "checksums.txt, SHA256SUMS, sha256sums.txt or …_checksums.txt";
const checksumsFile = /^(checksums\.txt|sha256sums(\.txt)?|.+[-_.](checksums\.txt|sha256sums(\.txt)?))$/i;
/** The form of a binary's name, in sentences. */
export const binaryNames = `…-<${components.join("|")}>-<${systems.join("|")}>-<${architectures.join("|")}>[-musl][.exe]`;

export const isChecksums = (name: string): boolean => checksumsFile.test(name);

/** What the name of a file says about its build; null when it is of no component. */
export function buildOf(name: string): { component: Component; os: string; arch: string; libc: Libc } | null {
  const [, component, os, arch, musl] = platformName.exec(name) ?? [];
  if (!component || !os || !arch || (musl && os !== "linux")) return null;
  return { component: component as Component, os, arch, libc: musl ? "musl" : "gnu" };
}

/**
 * The binaries that a file of checksums names, by component: lines as sha256sum or BSD's sha256 write them, with or
 * without a folder before the name. What has another form of name is no binary.
 */
export function parseChecksums(text: string): Map<Component, Omit<ManifestArtifact, "size">[]> {
  const found = new Map<Component, Omit<ManifestArtifact, "size">[]>();
  for (const each of text.split("\n")) {
    const named = entryOf(each.trim());
    const build = named && buildOf(named.name);
    if (!build || !isSupported(build)) continue;
    const { component, ...platform } = build;
    const artifacts = found.get(component) ?? [];
    artifacts.push({ ...platform, ...named } as Omit<ManifestArtifact, "size">);
    found.set(component, artifacts);
  }
  return found;
}

function entryOf(text: string): { name: string; sha256: string } | null {
  const [, digest, path] = line.exec(text) ?? [];
  const [, taggedPath, taggedDigest] = tagged.exec(text) ?? [];
  const name = (path ?? taggedPath ?? "").split(/[/\\]/).at(-1) ?? "";
  const sha256 = (digest ?? taggedDigest ?? "").toLowerCase();
  return name === "" || sha256 === "" ? null : { name, sha256 };
}
