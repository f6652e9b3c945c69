import { copyFileSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, hostname } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { pathsIn } from "../archive.mjs";
import { gitleaks, leaksIn } from "./gitleaks.mjs";
import { emptyFolder, run } from "./tools.mjs";

const root = fileURLToPath(new URL("../../../", import.meta.url)).replace(/\/$/, "");
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

const nothing = /(?!)/;

/** What no file of a release may hold, as text of a file. */
export const findings = [
  ["a private key", /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\\?[rn\s]+[A-Za-z0-9+/=\\rn\s]{60,}/],
  // PKCS#8 of Ed25519 and of P-256, as settings have them, and seeds of NATS.
  ["a private key in base64", /MC4CAQAwBQYDK2VwBCIEI[\w+/-]{42}|MIG[EH]AgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG[\w+/-]{60}/],
  ["a seed of a NATS key", /\bS[UANCO][A-Z2-7]{56}\b/],
  ["an encrypted minisign key", /untrusted comment: minisign (?:encrypted )?secret key/],
  ["a token of npm", /\bnpm_[A-Za-z0-9]{36}\b/],
  ["a token of GitHub", /\bgh[pousr]_[A-Za-z0-9]{36,}\b/],
  ["a key of AWS", /\bAKIA(?!IOSFODNN7EXAMPLE)[A-Z0-9]{16}\b/],
  ["a credential in a registry's address", /_authToken=|\/\/[^\s/:@"'`${}]+:[^\s/:@"'`${}]+@(?:registry|npm)\./],
  ["the path of this checkout", new RegExp(`${escaped(root)}/`)],
  ["a temporary folder of the build", /\/\.\d+\.\d+\.\d+[\w.-]*\.\d+\/(?:tree|work|out)\//],
  ["a temporary folder of the site's build", /\/muster-site-\w{6}\//],
  // What the bundler adds is no file: told by a path, it names the folder that the command ran in.
  ["a path of the bundler's own modules", /new URL\("[^"]*\\0/],
  // That of root is in programs of others, too.
  ["a home folder", homedir().length > 1 && homedir() !== "/root" ? new RegExp(`${escaped(homedir())}/`) : nothing],
  ["the name of this machine", hostname().length > 5 ? new RegExp(`\\b${escaped(hostname())}\\b`) : nothing],
];

/** Names of what a text holds and may not. */
export const secretsIn = (text) => findings.filter(([, pattern]) => pattern.test(text)).map(([name]) => name);

/** Reads every file of the release, of its archives and of the layers of its images; gitleaks does, too. */
export function checkSecrets({ folder, work, say }) {
  const all = emptyFolder(join(work, "all"));
  unpack(folder, all);
  const { count, problems } = problemsIn(all);
  const program = gitleaks();
  if (program !== null) problems.push(...leaksIn(program, all, join(work, "gitleaks.json")));
  if (problems.length > 0) throw new Error(problems.join("\n"));
  say(`${count} files hold no key, no token and no path of this machine`);
  say(program === null ? "no go, which builds gitleaks: not run" : "gitleaks finds nothing in them");
}

/** What files below a folder hold and may not, and how many there are. */
export function problemsIn(folder) {
  const paths = pathsIn(folder);
  const problems = paths.flatMap((path) =>
    secretsIn(textOf(join(folder, path))).map((found) => `${path} holds ${found}`),
  );
  return { count: paths.length, problems };
}

/** Copies a release with each archive as a folder of its name. */
export function unpack(folder, to) {
  for (const path of pathsIn(folder)) {
    const file = join(folder, path);
    if (lstatSync(file).isSymbolicLink()) continue;
    const inner = archiveOf(path);
    const target = join(to, path);
    if (inner === null) {
      mkdirSync(dirname(target), { recursive: true });
      copyFileSync(file, target);
      continue;
    }
    const opened = emptyFolder(`${target}.opened`);
    inner(file, opened);
    unpack(opened, emptyFolder(target));
    rmSync(opened, { recursive: true });
  }
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

/** Bytes as text, one character each. */
const textOf = (file) => readFileSync(file, "latin1");
