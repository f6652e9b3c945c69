import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cache } from "../cache.mjs";
import { sectionsOf } from "../changelog.mjs";
import { must, run } from "./tools.mjs";

const root = fileURLToPath(new URL("../../../", import.meta.url));
/** A cluster that is not done by then hangs. */
const clusterMs = 20 * 60_000;

/**
 * The chart's archive with the images' archive on a Kubernetes with a real kubelet: installed, and an earlier release
 * is upgraded to it under load.
 */
export function checkCluster({ folder, files, release, earlier, say }) {
  const { version } = release;
  const missing = [`muster-images-${version}.tar`, `muster-${version}.tgz`].find((name) => !files.includes(name));
  if (missing !== undefined) return `the release has no ${missing}`;
  const before = earlier ?? earlierOf(version, say);
  if (before === null) return "no --earlier FOLDER: the release before this one";
  for (const environment of [{}, { EARLIER: before }]) {
    const script = join(root, "deploy/kubernetes/check-cluster.sh");
    const env = { ...process.env, ONLY: "", KEDA: "", RELEASE: folder, ...environment };
    const { status } = spawnSync(script, { env, stdio: ["ignore", "inherit", "inherit"], timeout: clusterMs });
    if (status === 3) return "this machine has no cluster, as named above";
    must(status === 0, `the cluster ended with ${status}`);
  }
  say(`installed from its archives alone, and upgraded to from ${before}`);
}

/**
 * The release before a version: of one whose section in the changelog names its commit, images and chart are made of
 * that, once per machine. Null for another.
 */
function earlierOf(version, say) {
  const sections = [...sectionsOf(readFileSync(join(root, "CHANGELOG.md"), "utf8"))];
  const [before, text] = sections.find(([name]) => name !== "Unreleased" && name !== version) ?? [];
  const [commit] = /\b[0-9a-f]{40}\b/.exec(text ?? "") ?? [];
  if (commit === undefined) return null;
  const out = join(cache, `earlier-${commit.slice(0, 12)}`);
  const folder = join(out, before);
  if (existsSync(folder)) return folder;
  say(`making images and chart of ${before}, commit ${commit}`);
  const only = ["images", "chart"].flatMap((part) => ["--only", part]);
  const program = join(root, "deploy/release/release.mjs");
  run(process.execPath, [program, before, "--unpublished", "--commit", commit, ...only, "--out", out]);
  return folder;
}
