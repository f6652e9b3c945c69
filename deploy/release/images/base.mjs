import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { pathsIn } from "../archive.mjs";
import { Refusal } from "../refusal.mjs";
import { download } from "./download.mjs";

/** What a process of Node reads: libraries, their licenses, and what the system is. No program, no shell. */
const kept = [
  /^(usr\/)?lib(64)?\/([^/]*-linux-gnu\/)?[^/]*\.so[^/]*$/,
  /^usr\/share\/doc\/[^/]+\/copyright$/,
  /^(etc|usr\/lib)\/os-release$/,
  /^etc\/debian_version$/,
  /^usr\/share\/common-licenses\//,
];
/** Of libc6: what only name services, profilers and locales of others load. */
const leftOut = /\/lib(memusage|pcprofile|c_malloc_debug|thread_db|nss_hesiod|nss_compat|BrokenLocale)\.so/;

const files = {
  "etc/passwd": "root:x:0:0:root:/:/sbin/nologin\nmuster:x:10001:10001:muster:/tmp:/sbin/nologin\n",
  "etc/group": "root:x:0:\nmuster:x:10001:\n",
  "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
};

/** Unpacks a Debian package and keeps of it what an image needs; says in the image that the package is in it. */
export function addPackage(file, { name }, root, work) {
  const unpacked = join(work, "package");
  rmSync(unpacked, { recursive: true, force: true });
  try {
    execFileSync("dpkg-deb", ["-x", file, unpacked], { stdio: "pipe" });
  } catch (cause) {
    throw new Refusal("tool", `dpkg-deb does not unpack ${name}: ${cause.stderr || cause.message}`);
  }
  for (const path of pathsIn(unpacked)) {
    if (!kept.some((pattern) => pattern.test(path)) || leftOut.test(path)) continue;
    mkdirSync(dirname(join(root, path)), { recursive: true });
    cpSync(join(unpacked, path), join(root, path), { verbatimSymlinks: true });
  }
  // Scanners read which packages are in an image without dpkg from here.
  const status = join(root, "var/lib/dpkg/status.d");
  mkdirSync(status, { recursive: true });
  writeFileSync(join(status, name), execFileSync("dpkg-deb", ["-f", file], { encoding: "utf8" }));
}

/** The files of the base image of a platform, with a Node program. `mirrors` come before the pinned ones. */
export async function makeBase({ pins, arch, node, mirrors, root, work, cache }) {
  for (const entry of pins.packages) {
    const { path, sha256 } = entry[arch] ?? {};
    if (!path) throw new Refusal("download", `${entry.name} is not pinned for linux/${arch}.`);
    const urls = [...mirrors, ...pins.mirrors].map((mirror) => `${mirror.replace(/\/$/, "")}/${path}`);
    addPackage(await download(urls, sha256, cache), entry, root, work);
  }
  mkdirSync(join(root, "usr/bin"), { recursive: true });
  copyFileSync(node, join(root, "usr/bin/node"));
  for (const [path, text] of Object.entries(files)) writeFileSync(join(root, path), text);
  mkdirSync(join(root, "tmp"));
  settleModes(root);
  chmodSync(join(root, "usr/bin/node"), 0o755);
  chmodSync(join(root, "tmp"), 0o1777);
}

/** Gives files 644 or, to programs and folders, 755: modes of an image are not those of the machine's umask. */
export function settleModes(folder) {
  if (!existsSync(folder)) return;
  for (const path of ["", ...readdirSync(folder, { recursive: true })]) {
    const at = join(folder, String(path));
    const stat = lstatSync(at);
    if (stat.isSymbolicLink()) continue;
    chmodSync(at, stat.isDirectory() || stat.mode & 0o100 ? 0o755 : 0o644);
  }
}

/** The pins of a tree. */
export const pinsOf = (tree) => JSON.parse(readFileSync(join(tree, "deploy/release/images/debian.json"), "utf8"));
