#!/usr/bin/env node
// Makes, signs and checks manifests of agent releases, offline (docs/agent-releases.md). The private key stays where
// releases are built.
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { parseArgs } from "node:util";

const usage = `Usage:
  muster-release key NAME                          makes a key: the private one on standard output, the public one on standard error
  muster-release manifest --component C --version V [--counter N] [--expires TIME] [--minimum V] FILE=OS/ARCH…
                                                   signs a manifest of these files with RELEASE_SIGNING_KEY, to <component>.manifest
  muster-release root --number N --keys PUBLIC,…   begins a root note, which exchanges the keys, with RELEASE_SIGNING_KEY, to root.note
  muster-release sign FILE                         adds the signature of RELEASE_SIGNING_KEY: a root note needs an old key's and each new one's
  muster-release verify --key PUBLIC FILE [BINARY…] checks the signature of a manifest or root note, and the binaries that it names
Ends with 0 when all is well, 1 when something is wrong, 2 on wrong usage.
`;

const spki = Buffer.from("302a300506032b6570032100", "hex");
const semver = /^v?(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;
const [command, ...rest] = process.argv.slice(2);

try {
  if (command === "key" && rest.length === 1) makeKey(rest[0]);
  else if (command === "manifest") await makeManifest(rest);
  else if (command === "root") await makeRoot(rest);
  else if (command === "sign" && rest.length === 1) await addSignature(rest[0]);
  else if (command === "verify") await check(rest);
  else wrongUsage();
} catch (error) {
  process.stderr.write(`muster-release: ${error.message}\n`);
  process.exitCode = 1;
}

function wrongUsage() {
  process.stderr.write(usage);
  process.exitCode = 2;
}

/** @param {string} name */
function makeKey(name) {
  if (!/^[^\s+:\p{Cc}]{1,64}$/u.test(name))
    throw new Error("the name has 1 to 64 characters, no spaces, no plus and no colon");
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  process.stdout.write(`${name}:${privateKey.export({ type: "pkcs8", format: "der" }).toString("base64")}\n`);
  process.stderr.write(`RELEASE_MANIFEST_KEYS=${verifierOf(name, publicKey).text}\n`);
}

async function makeManifest(args) {
  const options = { component: { type: "string" }, version: { type: "string" }, counter: { type: "string" } };
  const more = { expires: { type: "string" }, minimum: { type: "string" } };
  const { values, positionals } = parseArgs({ args, options: { ...options, ...more }, allowPositionals: true });
  if (!values.component || !values.version || positionals.length === 0) return wrongUsage();
  const lineOf = signer();
  const artifacts = [];
  for (const positional of positionals) {
    const [, path, os, arch] = /^(.+)=(windows|linux|darwin)\/(amd64|arm64|386)$/.exec(positional) ?? [];
    if (!path) throw new Error(`"${positional}" is not FILE=OS/ARCH`);
    artifacts.push({ os, arch, size: (await stat(path)).size, sha256: await digestOf(path), name: basename(path) });
  }
  const problems = [...problemsOf(values), ...problemsOfFiles(artifacts)];
  if (problems.length > 0) throw new Error(problems.join("; "));
  const manifest = {
    version: values.version.replace(/^v/, ""),
    component: values.component,
    counter: Number(values.counter ?? 0),
    ...(values.expires ? { expires: values.expires } : {}),
    ...(values.minimum ? { minimumVersion: values.minimum } : {}),
    artifacts,
  };
  const text = `${JSON.stringify(manifest)}\n`;
  const file = `${values.component}.manifest`;
  await writeFile(file, `${text}\n${lineOf(text)}`);
  process.stdout.write(`${file}: ${artifacts.length} files of ${values.component} ${manifest.version}\n`);
}

/** What the platform would refuse: better before it is signed than when it is published. */
function problemsOf({ component, version, counter = "0", expires, minimum }) {
  const problems = [];
  if (!["agent", "watchdog", "helper"].includes(component)) problems.push("--component is agent, watchdog or helper");
  if (!semver.test(version)) problems.push(`--version ${version} is not a semantic version`);
  if (!/^\d{1,15}$/.test(counter)) problems.push(`--counter ${counter} is not a whole number`);
  if (minimum && !semver.test(minimum)) problems.push(`--minimum ${minimum} is not a semantic version`);
  if (expires && !(time.test(expires) && new Date(expires) > new Date()))
    problems.push(`--expires ${expires} is not a time in the future, such as 2027-01-01T00:00:00Z`);
  return problems;
}

function problemsOfFiles(artifacts) {
  const problems = [];
  const seen = new Set();
  for (const { os, arch, name, size } of artifacts) {
    if (size === 0) problems.push(`${name} is empty`);
    if (!/^[A-Za-z0-9][A-Za-z0-9._+-]{0,199}$/.test(name))
      problems.push(`"${name}" is not a valid name of a published file`);
    for (const each of [`called ${name}`, `for ${os}/${arch}`])
      if (seen.size === seen.add(each).size) problems.push(`two files are ${each}`);
  }
  return problems;
}

/** What makes signature lines with RELEASE_SIGNING_KEY. */
function signer() {
  const [, name = "", base64 = ""] = /^([^:+\s]+):(\S+)$/.exec(process.env.RELEASE_SIGNING_KEY?.trim() ?? "") ?? [];
  if (name === "") throw new Error("RELEASE_SIGNING_KEY holds no key of `muster-release key`");
  const privateKey = createPrivateKey({ key: Buffer.from(base64, "base64"), format: "der", type: "pkcs8" });
  const { hash } = verifierOf(name, createPublicKey(privateKey));
  return (text) => {
    const signature = Buffer.concat([Buffer.from(hash, "hex"), sign(null, Buffer.from(text), privateKey)]);
    return `— ${name} ${signature.toString("base64")}\n`;
  };
}

async function makeRoot(args) {
  const options = { number: { type: "string" }, keys: { type: "string" } };
  const { values } = parseArgs({ args, options });
  const number = Number(values.number);
  if (!Number.isSafeInteger(number) || number < 2 || !values.keys) return wrongUsage();
  const keys = values.keys.split(",").map((key) => key.trim());
  for (const key of keys) publicKeyOf(key);
  const text = `${JSON.stringify({ root: number, keys })}\n`;
  await writeFile("root.note", `${text}\n${signer()(text)}`);
  process.stdout.write(`root.note: root ${number} with ${keys.length} keys; have every new key sign it\n`);
}

/** @param {string} file */
async function addSignature(file) {
  const note = await readFile(file, "utf8");
  const split = note.lastIndexOf("\n\n");
  if (split < 0) throw new Error("not a signed note");
  const line = signer()(note.slice(0, split + 1));
  if (!note.includes(line)) await writeFile(file, note + line);
  process.stdout.write(`${file}: signed\n`);
}

async function check(args) {
  const { values, positionals } = parseArgs({ args, options: { key: { type: "string" } }, allowPositionals: true });
  const [file, ...binaries] = positionals;
  if (!values.key || !file) return wrongUsage();
  const note = await readFile(file, "utf8");
  const split = note.lastIndexOf("\n\n");
  if (split < 0) throw new Error("not a signed note");
  const text = note.slice(0, split + 1);
  const { name, hash, publicKey } = publicKeyOf(values.key);
  const signed = note
    .slice(split + 2)
    .split("\n")
    .some((line) => {
      const [, by, signature = ""] = /^— (\S+) (\S+)$/u.exec(line) ?? [];
      const bytes = Buffer.from(signature, "base64");
      return (
        by === name &&
        bytes.toString("hex", 0, 4) === hash &&
        verify(null, Buffer.from(text), publicKey, bytes.subarray(4))
      );
    });
  if (!signed) throw new Error(`${file} is not signed by ${name}`);
  const { artifacts = [], component, version, root } = JSON.parse(text);
  for (const path of binaries) {
    const artifact = artifacts.find((each) => each.name === basename(path));
    if (!artifact) throw new Error(`${path} is not named by the manifest`);
    if (artifact.size !== (await stat(path)).size || artifact.sha256 !== (await digestOf(path)))
      throw new Error(`${path} is another file`);
  }
  const what = root === undefined ? `${component} ${version}` : `root ${root}`;
  process.stdout.write(`${what} is signed by ${name}\n`);
}

/** Reads a C2SP verifier key, `name+hash+base64`. */
function publicKeyOf(text) {
  const [, name = "", hash = "", base64 = ""] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text) ?? [];
  const blob = Buffer.from(base64, "base64");
  if (blob.length !== 33 || blob[0] !== 1) throw new Error("the key is not name+hash+base64 of an Ed25519 key");
  const publicKey = createPublicKey({ key: Buffer.concat([spki, blob.subarray(1)]), format: "der", type: "spki" });
  if (verifierOf(name, publicKey).hash !== hash) throw new Error("the hash of the key is not its own");
  return { name, hash, publicKey };
}

/** @param {string} path */
async function digestOf(path) {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

/** A C2SP verifier key. */
function verifierOf(name, publicKey) {
  const blob = Buffer.concat([Buffer.from([1]), publicKey.export({ type: "spki", format: "der" }).subarray(-32)]);
  const hash = createHash("sha256").update(`${name}\n`).update(blob).digest("hex").slice(0, 8);
  return { hash, text: `${name}+${hash}+${blob.toString("base64")}` };
}
