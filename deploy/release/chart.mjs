import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { packTgz } from "./archive.mjs";
import { changesOf } from "./changelog.mjs";
import { Refusal } from "./refusal.mjs";

/** YAML with its comments, by the packages of the tree where it is built, else of the checkout, which may have none. */
export function yamlOf(tree) {
  for (const from of [join(tree, "package.json"), import.meta.url]) {
    try {
      return createRequire(from)("yaml");
    } catch (error) {
      if (error.code !== "MODULE_NOT_FOUND") throw error;
    }
  }
  throw new Refusal("tool", "the package yaml is not installed: npm ci.");
}

/** What only a checkout needs; .helmignore has the same. */
const leftOut = /\/(tests|ci|\.helmignore)$/;

/** Chart.yaml of a release: its version, and what ArtifactHub shows. */
export function chartOf(text, { version, notes, images, source }, { parseDocument, stringify }) {
  const chart = parseDocument(text);
  if (source !== undefined) {
    chart.set("home", source);
    chart.set("sources", [source]);
  }
  chart.set("version", version);
  chart.set("appVersion", version);
  const annotations = {
    "artifacthub.io/prerelease": String(version.includes("-")),
    "artifacthub.io/changes": stringify(changesOf(notes), { lineWidth: 0 }),
    ...(images.length > 0 ? { "artifacthub.io/images": stringify(images, { lineWidth: 0 }) } : {}),
  };
  for (const [name, value] of Object.entries(annotations)) chart.setIn(["annotations", name], value);
  return chart.toString({ lineWidth: 0 });
}

/** values.yaml of a release: images by digest. Throws where the chart knows a service that has no image. */
export function valuesOf(text, { registry, digests }, { parseDocument }) {
  const values = parseDocument(text);
  const services = values.getIn(["image", "digests"]).toJSON();
  const missing = Object.keys(services).find((service) => digests.size > 0 && !digests.has(service));
  if (missing !== undefined) throw new Refusal("failed", `the chart's service ${missing} has no image.`);
  values.setIn(["image", "registry"], registry);
  for (const [service, digest] of digests) values.setIn(["image", "digests", service], digest);
  return values.toString({ lineWidth: 0 });
}

/** Writes `muster-VERSION.tgz`, as `helm package` would, with the digests of the images. */
export async function makeChart({ tree, work, out, version, epoch, notes, registry, digests, source }) {
  const yaml = yamlOf(tree);
  const from = join(tree, "charts", "muster");
  const folder = join(work, "chart");
  mkdirSync(folder, { recursive: true });
  cpSync(from, join(folder, "muster"), { recursive: true, filter: (path) => !leftOut.test(path) });
  const edit = (name, change) => {
    const path = join(folder, "muster", name);
    writeFileSync(path, change(readFileSync(path, "utf8")));
  };
  const images = [...digests].map(([name, digest]) => ({ name, image: `${registry}/${name}@${digest}` }));
  edit("Chart.yaml", (text) => chartOf(text, { version, notes, images, source }, yaml));
  edit("values.yaml", (text) => valuesOf(text, { registry, digests }, yaml));
  await packTgz(join(out, `muster-${version}.tgz`), folder, epoch);
}
