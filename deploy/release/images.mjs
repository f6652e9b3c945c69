import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { nodeProgram } from "../program/node-program.mjs";
import { nodeVersion } from "../program/platforms.mjs";
import { packTar } from "./archive.mjs";
import { cache } from "./cache.mjs";
import { makeBase, pinsOf, settleModes } from "./images/base.mjs";
import { configOf, labelsOf, natsConfigOf, setupConfigOf } from "./images/config.mjs";
import { Layout } from "./images/layout.mjs";
import { fillNats, natsComponents } from "./images/nats.mjs";
import { fillSetup } from "./images/setup.mjs";
import { Refusal } from "./refusal.mjs";
import { billOf, withBase, writeSbom } from "./sbom.mjs";

const architectures = ["amd64", "arm64"];
const checkout = fileURLToPath(new URL("../../", import.meta.url));
/** Whether a tree has what only the compose file needs; a version before it has services alone. */
const hasCompose = (tree) => existsSync(join(tree, "deploy/compose/compose.yaml"));

/** Writes all images for linux/amd64 and linux/arm64 as one OCI archive, and a bill of materials of each. */
export async function makeImages(context) {
  const { tree, work, out, version, epoch } = context;
  const folder = join(work, "images");
  const layout = new Layout(folder);
  const bases = new Map();
  for (const arch of architectures) bases.set(arch, await baseOf(context, layout, arch));
  for (const service of ["gateway", ...readdirSync(join(tree, "services")).sort()]) {
    await makeImage({ ...context, service }, layout, bases);
  }
  if (hasCompose(tree)) {
    await makeSetup(context, layout, bases);
    await makeNats(context, layout, bases);
  }
  layout.end();
  packTar(join(out, `muster-images-${version}.tar`), folder, epoch);
  rmSync(folder, { recursive: true });
}

async function makeImage(context, layout, bases) {
  const { tree, work, out, epoch, service } = context;
  const staged = join(work, "stage");
  const { stage } = await import(pathToFileURL(join(tree, "deploy/image/stage.mjs")).href);
  stage(service, join(staged, "app"));
  const sbom = JSON.parse(readFileSync(join(staged, "app", "sbom.cdx.json"), "utf8"));
  const layer = await layerOf(layout, staged, epoch);
  putImages(context, layout, bases, (base) => [...base.layers, layer], configOf);
  const pins = pinsFor(context);
  writeSbom(out, `image-${service}`, withBase(sbom, pins, nodeVersion));
}

/** The image that makes keys, roles and schemas of a compose file's cluster. */
async function makeSetup(release, layout, bases) {
  const context = { ...release, service: "setup" };
  const { work, out, epoch } = context;
  const staged = join(work, "stage");
  const components = await fillSetup(context, join(staged, "app"));
  const layer = await layerOf(layout, staged, epoch);
  putImages(context, layout, bases, (base) => [...base.layers, layer], setupConfigOf);
  const pins = pinsFor(context);
  writeSbom(out, "image-setup", withBase(billOf(context, "muster-setup", components), pins, nodeVersion));
}

/** The image of the pinned nats-server: its program and its license, and nothing below them. */
async function makeNats(release, layout, bases) {
  const context = { ...release, service: "nats" };
  const { tree, work, out, epoch } = context;
  const layers = new Map();
  for (const arch of bases.keys()) {
    const staged = join(work, "stage");
    await fillNats({ tree, arch, cache }, staged);
    layers.set(arch, [await layerOf(layout, staged, epoch)]);
  }
  putImages(context, layout, bases, (_, arch) => layers.get(arch), natsConfigOf);
  writeSbom(out, "image-nats", billOf(context, "muster-nats", natsComponents(tree)));
}

async function layerOf(layout, staged, epoch) {
  settleModes(staged);
  const layer = await layout.putLayer(staged, epoch);
  rmSync(staged, { recursive: true });
  return layer;
}

/** Names an image of each platform by one index, and remembers its digest. */
function putImages(context, layout, bases, layersOf, configured) {
  const { version, registry, epoch, service, digests, say } = context;
  const created = new Date(epoch * 1000).toISOString();
  const images = [...bases].map(([arch, base]) => {
    const layers = layersOf(base, arch);
    const history = layers.map((_, at) => (at < layers.length - 1 ? "base" : `${service} ${version}`));
    const config = configured({ ...context, created }, base.config);
    return layout.putImage({ arch, config, created, history, layers });
  });
  const digest = layout.putIndex(`${registry}/${service}:${version}`, images, labelsOf({ ...context, created }));
  digests.set(service, digest);
  say(`  ${service}: ${digest}`);
}

/** The pins of our base, this program's where the tree has none; null where another base is taken. */
function pinsFor({ base, tree }) {
  if (base !== undefined) return null;
  return pinsOf(existsSync(join(tree, "deploy/release/images")) ? tree : checkout);
}

/** Layers and configuration of the base for an architecture: ours, or what `--base` names. */
async function baseOf(context, layout, arch) {
  const { work, epoch, mirror } = context;
  if (context.base !== undefined) return otherBase(context, layout, arch);
  const root = join(work, `base-${arch}`);
  const node = await nodeProgram(`linux/${arch}`, cache);
  await makeBase({ pins: pinsFor(context), arch, node, mirrors: mirror, root, work, cache });
  return { layers: [await layout.putLayer(root, epoch)], config: {} };
}

function otherBase({ base, work }, layout, arch) {
  const from = join(work, "base");
  if (!existsSync(from)) {
    const { error, status, stderr } = spawnSync("skopeo", ["copy", "--all", `docker://${base}`, `oci:${from}`], {
      encoding: "utf8",
    });
    if (error) throw new Refusal("tool", "--base needs skopeo, which is not on this machine.");
    if (status !== 0) throw new Refusal("download", `skopeo does not copy ${base}: ${stderr.trim()}`);
  }
  const image = layout.takeImage(from, arch);
  if (image === null) throw new Refusal("download", `${base} has no image for linux/${arch}.`);
  return image;
}
