import { architectures, type Component, components, systems } from "./component.ts";
import type { ManifestArtifact } from "./manifest.ts";

const line = /^([0-9a-fA-F]{64})[ \t]+\*?(\S+)$/;
const fileName = new RegExp(
  `^(?:.*[-_.])?(${components.join("|")})[-_](${systems.join("|")})[-_](${architectures.join("|")})(?:\\.exe)?$`,
);

export const manifestName = (component: Component) => `${component}.manifest`;
export const checksumsName = "checksums.txt";

/**
 * The files that `checksums.txt` (as sha256sum writes it) names, by component; what has another form of name is no
 * binary.
 */
export function parseChecksums(text: string): Map<Component, Omit<ManifestArtifact, "size">[]> {
  const found = new Map<Component, Omit<ManifestArtifact, "size">[]>();
  for (const each of text.split("\n")) {
    const [, sha256, name] = line.exec(each.trim()) ?? [];
    const [, component, os, arch] = fileName.exec(name ?? "") ?? [];
    if (!sha256 || !name || !component || !os || !arch) continue;
    const artifacts = found.get(component as Component) ?? [];
    artifacts.push({ os, arch, name, sha256: sha256.toLowerCase() } as Omit<ManifestArtifact, "size">);
    found.set(component as Component, artifacts);
  }
  return found;
}
