import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A component of a bill of materials (CycloneDX 1.5). */
export const component = (name, version, purl, license) => ({
  "bom-ref": purl,
  type: "library",
  name,
  version,
  purl,
  ...(license ? { licenses: [{ expression: license }] } : {}),
});

/**
 * A bill of materials (CycloneDX) of an image: that of its packages of npm, Node, and the Debian packages of the base.
 *
 * @param {object | null} pins of the base; null of another base, which has a bill of its own
 */
export function withBase(sbom, pins, nodeVersion) {
  const node = component("node", nodeVersion, `pkg:generic/node@${nodeVersion}`, "MIT");
  const packages = (pins?.packages ?? []).map(({ name, version }) =>
    component(name, version, `pkg:deb/debian/${name}@${encodeURIComponent(version)}?distro=${pins.distribution}`),
  );
  return { ...sbom, components: [...sbom.components, node, ...packages] };
}

/** The packages of npm that modules are of, by the package.json above each; packages of this repository left out. */
export function packagesOf(modules) {
  const found = new Map();
  for (const path of modules) {
    if (!path.includes("/node_modules/")) continue;
    const { name, version, license } = manifestAbove(path);
    const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
    found.set(purl, component(name, version, purl, license));
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

/** A folder of a package may have a package.json of its own, without a name. */
function manifestAbove(path) {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, "package.json");
    const manifest = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
    if (manifest.name && manifest.version) return manifest;
  }
  throw new Error(`${path} is of no package`);
}

/** A bill of materials (CycloneDX 1.5) of what is not described by npm. */
export function billOf({ version }, name, components, purl = `pkg:generic/${name}@${version}`) {
  const about = { ...component(name, version, purl, "Apache-2.0"), type: "application" };
  return { bomFormat: "CycloneDX", specVersion: "1.5", version: 1, metadata: { component: about }, components };
}

/** Writes the bill of materials of a package of npm that has others in it or needs them. */
export function writeBill({ out, scope, version }, name, components) {
  const purl = `pkg:npm/${scope.replace("@", "%40")}/${name}@${version}`;
  writeSbom(out, `npm-${name}`, billOf({ version }, `${scope}/${name}`, components, purl));
}

/** Writes a bill of materials into a release's folder of them. */
export function writeSbom(out, name, sbom) {
  mkdirSync(join(out, "sbom"), { recursive: true });
  writeFileSync(join(out, "sbom", `${name}.cdx.json`), `${JSON.stringify(sbom, null, 2)}\n`);
}
