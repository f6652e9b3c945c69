import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packTgz } from "./archive.mjs";
import { changesOf } from "./changelog.mjs";
import { Refusal } from "./refusal.mjs";
import { yamlOf } from "./yaml.mjs";

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

/** Services that the chart runs, by its values; none where it knows images by their tag alone. */
const servicesOf = (values) => Object.keys(values.getIn(["image", "digests"])?.toJSON() ?? {});

/** values.yaml of a release: images by digest. Throws where the chart knows a service that has no image. */
export function valuesOf(text, { registry, digests }, { parseDocument }) {
  const values = parseDocument(text);
  const services = servicesOf(values);
  const missing = services.find((service) => digests.size > 0 && !digests.has(service));
  if (missing !== undefined) throw new Refusal("failed", `the chart's service ${missing} has no image.`);
  values.setIn(["image", "registry"], registry);
  for (const service of services.filter((name) => digests.has(name))) {
    values.setIn(["image", "digests", service], digests.get(service));
  }
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
  const services = servicesOf(yaml.parseDocument(readFileSync(join(from, "values.yaml"), "utf8")));
  const images = services
    .filter((name) => digests.has(name))
    .map((name) => ({ name, image: `${registry}/${name}@${digests.get(name)}` }));
  edit("Chart.yaml", (text) => chartOf(text, { version, notes, images, source }, yaml));
  edit("values.yaml", (text) => valuesOf(text, { registry, digests }, yaml));
  await packTgz(join(out, `muster-${version}.tgz`), folder, epoch);
}
