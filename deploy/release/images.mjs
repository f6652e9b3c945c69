import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { stage } from "../image/stage.mjs";
import { nodeProgram } from "../program/node-program.mjs";
import { nodeVersion } from "../program/platforms.mjs";
import { packTar } from "./archive.mjs";
import { cache } from "./cache.mjs";
import { makeBase, pinsOf, settleModes } from "./images/base.mjs";
import { configOf, labelsOf } from "./images/config.mjs";
import { Layout } from "./images/layout.mjs";
import { Refusal } from "./refusal.mjs";
import { withBase, writeSbom } from "./sbom.mjs";

const architectures = ["amd64", "arm64"];

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
  layout.end();
  packTar(join(out, `muster-images-${version}.tar`), folder, epoch);
  rmSync(folder, { recursive: true });
}

async function makeImage(context, layout, bases) {
  const { tree, work, out, version, registry, epoch, service, digests, say } = context;
  const staged = join(work, "stage");
  stage(service, join(staged, "app"));
  const sbom = JSON.parse(readFileSync(join(staged, "app", "sbom.cdx.json"), "utf8"));
  settleModes(staged);
  const layer = await layout.putLayer(staged, epoch);
  rmSync(staged, { recursive: true });
  const created = new Date(epoch * 1000).toISOString();
  const images = [...bases].map(([arch, base]) => {
    const history = [...base.layers.map(() => "base"), `${service} ${version}`];
    const layers = [...base.layers, layer];
    return layout.putImage({ arch, config: configOf({ ...context, created }, base.config), created, history, layers });
  });
  const digest = layout.putIndex(`${registry}/${service}:${version}`, images, labelsOf({ ...context, created }));
  digests.set(service, digest);
  const pins = context.base === undefined ? pinsOf(tree) : null;
  writeSbom(out, `image-${service}`, withBase(sbom, pins, nodeVersion));
  say(`  ${service}: ${digest}`);
}

/** Layers and configuration of the base for an architecture: ours, or what `--base` names. */
async function baseOf(context, layout, arch) {
  const { tree, work, epoch, mirror } = context;
  if (context.base !== undefined) return otherBase(context, layout, arch);
  const root = join(work, `base-${arch}`);
  const node = await nodeProgram(`linux/${arch}`, cache);
  await makeBase({ pins: pinsOf(tree), arch, node, mirrors: mirror, root, work, cache });
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
