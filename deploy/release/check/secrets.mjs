import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { pathsIn } from "../archive.mjs";
import { emptyFolder, run } from "./tools.mjs";

const root = fileURLToPath(new URL("../../../", import.meta.url)).replace(/\/$/, "");
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

const nothing = /(?!)/;

/** What no file of a release may hold, as text of a file. */
export const findings = [
  ["a private key", /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\\?[rn\s]+[A-Za-z0-9+/=\\rn\s]{60,}/],
  ["an encrypted minisign key", /untrusted comment: minisign (?:encrypted )?secret key/],
  ["a token of npm", /\bnpm_[A-Za-z0-9]{36}\b/],
  ["a token of GitHub", /\bgh[pousr]_[A-Za-z0-9]{36,}\b/],
  ["a key of AWS", /\bAKIA(?!IOSFODNN7EXAMPLE)[A-Z0-9]{16}\b/],
  ["a credential in a registry's address", /_authToken=|\/\/[^\s/:@"'`${}]+:[^\s/:@"'`${}]+@(?:registry|npm)\./],
  ["the path of this checkout", new RegExp(`${escaped(root)}/`)],
  ["a temporary folder of the build", /\/\.\d+\.\d+\.\d+[\w.-]*\.\d+\/(?:tree|work|out)\//],
  // What the bundler adds is no file: told by a path, it names the folder that the command ran in.
  ["a path of the bundler's own modules", /new URL\("[^"]*\\0/],
  // That of root is in programs of others, too.
  ["a home folder", homedir().length > 1 && homedir() !== "/root" ? new RegExp(`${escaped(homedir())}/`) : nothing],
  ["the name of this machine", hostname().length > 5 ? new RegExp(`\\b${escaped(hostname())}\\b`) : nothing],
];

/** Names of what a text holds and may not. */
export const secretsIn = (text) => findings.filter(([, pattern]) => pattern.test(text)).map(([name]) => name);

/** Reads every file of the release, of its archives and of the layers of its images. */
export function checkSecrets({ folder, work, say }) {
  let count = 0;
  const problems = [];
  const scan = (at, name) => {
    for (const path of pathsIn(at)) {
      const file = join(at, path);
      const inner = archiveOf(path);
      if (inner !== null) {
        const to = emptyFolder(join(work, String(count++)));
        inner(file, to);
        scan(to, `${name}${path}: `);
        rmSync(to, { recursive: true });
        continue;
      }
      count += 1;
      for (const found of secretsIn(textOf(file))) problems.push(`${name}${path} holds ${found}`);
    }
  };
  scan(folder, "");
  if (problems.length > 0) throw new Error(problems.join("\n"));
  say(`${count} files hold no key, no token and no path of this machine`);
}

const untar = (file, to) => run("tar", ["-xf", file, "-C", to]);
function archiveOf(path) {
  if (/\.(tgz|tar)$/.test(path)) return untar;
  if (/\.gz$/.test(path)) return (file, to) => writeFileSync(join(to, "program"), gunzipSync(readFileSync(file)));
  if (/\.deb$/.test(path)) return (file, to) => run("dpkg-deb", ["-R", file, to]);
  // Layers, by the form of their names alone.
  return /^blobs\/sha256\/[\da-f]{64}$/.test(path) ? unpackLayer : null;
}

function unpackLayer(file, to) {
  const bytes = readFileSync(file);
  if (bytes.readUInt16BE(0) === 0x1f8b) untar(file, to);
  else writeFileSync(join(to, "json"), bytes);
}

/** Bytes as text, link or file. */
function textOf(file) {
  try {
    return readFileSync(file, "latin1");
  } catch (error) {
    // A link of an image leads nowhere here.
    if (["ENOENT", "EISDIR", "ELOOP", "EACCES"].includes(error.code)) return "";
    throw error;
  }
}
