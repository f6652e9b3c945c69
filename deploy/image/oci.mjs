// node oci.mjs NAME:TAG OUT.tar CONFIG LAYERDIR…: an OCI image as one tar, one layer per folder, without a registry or
// a builder; `ctr images import` takes it. CONFIG is JSON:
// {"Entrypoint":["/usr/bin/node"],"Env":["A=b"],"User":"1000"}.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const [name, out, config, ...folders] = process.argv.slice(2);
const work = mkdtempSync(`${resolve(out)}.`);
const blobs = join(work, "blobs/sha256");
mkdirSync(blobs, { recursive: true });

const hashFile = async (path) => {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
};
const putJson = (mediaType, value) => {
  const bytes = Buffer.from(JSON.stringify(value));
  const hex = createHash("sha256").update(bytes).digest("hex");
  writeFileSync(join(blobs, hex), bytes);
  return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
};

const layers = [];
for (const folder of folders) {
  const path = join(work, "layer.tar");
  execFileSync("tar", [
    "--sort=name",
    "--mtime=@0",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "-C",
    folder,
    "-cf",
    path,
    ".",
  ]);
  const hex = await hashFile(path);
  renameSync(path, join(blobs, hex));
  layers.push({
    mediaType: "application/vnd.oci.image.layer.v1.tar",
    digest: `sha256:${hex}`,
    size: statSync(join(blobs, hex)).size,
  });
}
const image = putJson("application/vnd.oci.image.config.v1+json", {
  architecture: "amd64",
  os: "linux",
  config: JSON.parse(config),
  rootfs: { type: "layers", diff_ids: layers.map((layer) => layer.digest) },
});
const manifest = putJson("application/vnd.oci.image.manifest.v1+json", {
  schemaVersion: 2,
  mediaType: "application/vnd.oci.image.manifest.v1+json",
  config: image,
  layers,
});
manifest.annotations = { "io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.split(":")[1] };
writeFileSync(join(work, "index.json"), JSON.stringify({ schemaVersion: 2, manifests: [manifest] }));
writeFileSync(join(work, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
mkdirSync(dirname(resolve(out)), { recursive: true });
execFileSync("tar", ["-C", work, "-cf", out, "oci-layout", "index.json", "blobs"]);
rmSync(work, { recursive: true });
console.log(`${name} -> ${out} (${Math.round(statSync(out).size / 1e6)} MB)`);
