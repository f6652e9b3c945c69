import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathsIn } from "../archive.mjs";
import { machines } from "./programs.mjs";
import { emptyFolder, must, run } from "./tools.mjs";

const forbidden = /(^|\/)(sh|bash|dash|busybox|npm|npx|apt|apt-get|dpkg|perl|python3?)$/;
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Images are whole, for both platforms, of their machine, without a shell, and not root's. */
export function checkImages({ folder, files, release, work, say }) {
  const archive = `muster-images-${release.version}.tar`;
  if (!files.includes(archive)) return "the release has no images";
  const layout = emptyFolder(join(work, "layout"));
  run("tar", ["-xf", join(folder, archive), "-C", layout]);
  const blob = ({ digest }) => join(layout, "blobs", ...digest.split(":"));
  const read = (descriptor) => JSON.parse(readFileSync(blob(descriptor), "utf8"));
  for (const name of readdirSync(join(layout, "blobs/sha256"))) {
    must(sha256(readFileSync(join(layout, "blobs/sha256", name))) === name, `blob ${name} is damaged`);
  }
  const named = JSON.parse(readFileSync(join(layout, "index.json"), "utf8")).manifests;
  // By its tag for all tools, and for containerd by its digest, too.
  const manifests = named.filter((_, at) => at % 2 === 0);
  const digests = Object.values(release.images);
  must(
    manifests.map(({ digest }) => digest).join() === digests.join(),
    "release.json has other digests than the archive",
  );
  for (const [service, digest] of Object.entries(release.images)) {
    const pinned = `${release.registry}/${service}@${digest}`;
    const isNamed = ({ annotations }) => annotations["io.containerd.image.name"] === pinned;
    must(named.some(isNamed), `containerd would not know ${pinned}`);
  }
  const bases = new Map();
  const own = new Map();
  for (const index of manifests) {
    const images = read(index).manifests;
    must(images.map(({ platform }) => platform.architecture).join() === "amd64,arm64", "an image lacks a platform");
    for (const each of images) {
      const { config, layers } = read(each);
      const { architecture, config: settings } = read(config);
      must(
        architecture === each.platform.architecture && settings.User === "10001:10001",
        "an image is another's or root's",
      );
      bases.set(layers[0].digest, architecture);
      own.set(layers.at(-1).digest, layers.at(-1));
    }
  }
  for (const layer of own.values()) checkLayer(run("tar", ["-tvzf", blob(layer)]));
  for (const [digest, arch] of bases) checkBase(unpacked({ digest }, blob, join(work, arch)), arch);
  say(`${manifests.length} images for two platforms; no shell, no package manager, no setuid, uid 10001`);
  say(isInspected(join(folder, archive), manifests[0]));
}

function unpacked(layer, blob, to) {
  rmSync(to, { recursive: true, force: true });
  run("tar", ["-xzf", blob(layer), "-C", emptyFolder(to)]);
  return to;
}

/** What a service adds, as tar lists it: nothing compiled for one machine, nothing that raises rights. */
function checkLayer(listed) {
  const bad = listed.split("\n").find((line) => /\.node$/.test(line) || /^.{3}s|^.{6}s/i.test(line));
  must(bad === undefined, `an image has ${bad}`);
}

function checkBase(root, arch) {
  const paths = pathsIn(root);
  const names = new Set(paths.map((path) => path.split("/").at(-1)));
  for (const path of paths) {
    must(!forbidden.test(path), `the base has ${path}`);
    const stat = lstatSync(join(root, path));
    if (!stat.isFile()) continue;
    must((stat.mode & 0o6000) === 0, `${path} raises rights`);
    const bytes = readFileSync(join(root, path));
    if (bytes.toString("latin1", 0, 4) !== "\x7fELF") continue;
    must(bytes.readUInt16LE(18) === machines[arch], `${path} is of another machine than ${arch}`);
    checkLinks(join(root, path), names);
  }
}

/** Every library that a program or library needs is in the image. */
function checkLinks(file, names) {
  for (const [, name] of run("readelf", ["-d", file]).matchAll(/\(NEEDED\).*\[(.+)\]/g)) {
    must(names.has(name), `${file} needs ${name}, which is not in the image`);
  }
}

/** Another program reads the archive, too, where there is one. */
function isInspected(archive, { annotations }) {
  const name = annotations["org.opencontainers.image.ref.name"];
  try {
    run("skopeo", ["inspect", "--raw", `oci-archive:${archive}:${name}`]);
    return "skopeo reads the archive";
  } catch (error) {
    if (/ENOENT/.test(error.message)) return "skopeo is not here: not run";
    throw error;
  }
}
