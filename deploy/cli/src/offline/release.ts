// Makes, signs and checks manifests of agent releases, offline (docs/agent-releases.md). The private key stays where
// releases are built.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { parseArgs } from "node:util";

const usage = `Usage:
  muster-release key NAME                          makes a key: the private one on standard output, the public one on standard error
  muster-release manifest --component C --version V [--counter N] [--expires TIME] [--minimum V] FILE=OS/ARCH[/musl]…
                                                   signs a manifest of these files with RELEASE_SIGNING_KEY, to <component>.manifest
  muster-release root --number N --keys PUBLIC,…   begins a root note, which exchanges the keys, with RELEASE_SIGNING_KEY, to root.note
  muster-release rollback --component C --version V --counter N --expires TIME [--scope ORGANIZATION]
                                                   signs a rollback note, which permits devices that run a newer version with a counter
                                                   up to N to go back, with RELEASE_SIGNING_KEY, to rollback.note
  muster-release sign FILE                         adds the signature of RELEASE_SIGNING_KEY: a root note needs an old key's and each new one's
  muster-release verify --key PUBLIC FILE [BINARY…] checks the signature of a manifest or root note, and the binaries that it names
Ends with 0 when all is well, 1 when something is wrong, 2 on wrong usage.
`;

const spki = Buffer.from("302a300506032b6570032100", "hex");
const semver = /^v?(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

const commands: Readonly<Record<string, (args: string[]) => void | Promise<void>>> = {
  key: makeKey,
  manifest: makeManifest,
  root: makeRoot,
  rollback: makeRollback,
  sign: addSignature,
  verify: check,
};

/** `muster-release`; resolves to the exit code. */
export async function releaseProgram([command = "", ...rest]: readonly string[]): Promise<number> {
  try {
    await (commands[command] ?? wrongUsage)(rest);
    return 0;
  } catch (error) {
    const isUsage = error instanceof WrongUsage;
    process.stderr.write(isUsage ? usage : `muster-release: ${error instanceof Error ? error.message : error}\n`);
    return isUsage ? 2 : 1;
  }
}

class WrongUsage extends Error {}

function wrongUsage(): never {
  throw new WrongUsage();
}

function makeKey([name, ...more]: string[]): void {
  if (name === undefined || more.length > 0) wrongUsage();
  if (!/^[^\s+:\p{Cc}]{1,64}$/u.test(name))
    throw new Error("the name has 1 to 64 characters, no spaces, no plus and no colon");
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  process.stdout.write(`${name}:${privateKey.export({ type: "pkcs8", format: "der" }).toString("base64")}\n`);
  process.stderr.write(`RELEASE_MANIFEST_KEYS=${verifierOf(name, publicKey).text}\n`);
}

type Artifact = { os: string; arch: string; libc?: "musl"; size: number; sha256: string; name: string };
type ManifestOptions = { component: string; version: string; counter?: string; expires?: string; minimum?: string };

async function makeManifest(args: string[]): Promise<void> {
  const text = { type: "string" } as const;
  const options = { component: text, version: text, counter: text, expires: text, minimum: text };
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const { component, version, counter = "0", expires, minimum } = values;
  if (!component || !version || positionals.length === 0) return wrongUsage();
  const lineOf = signer();
  const artifacts: Artifact[] = [];
  for (const positional of positionals) artifacts.push(await artifactOf(positional));
  const problems = [
    ...problemsOf({ component, version, counter, expires, minimum }, new Date()),
    ...problemsOfFiles(artifacts),
  ];
  if (problems.length > 0) throw new Error(problems.join("; "));
  const manifest = {
    version: version.replace(/^v/, ""),
    component,
    counter: Number(counter),
    ...(expires ? { expires } : {}),
    ...(minimum ? { minimumVersion: minimum } : {}),
    // Agents that know nothing of C libraries take the first of their system.
    artifacts: artifacts.toSorted((a, b) => Number("libc" in a) - Number("libc" in b)),
  };
  const body = `${JSON.stringify(manifest)}\n`;
  const file = `${component}.manifest`;
  await writeFile(file, `${body}\n${lineOf(body)}`);
  process.stdout.write(`${file}: ${artifacts.length} files of ${component} ${manifest.version}\n`);
}

/** The artifact of an argument FILE=OS/ARCH[/musl]. */
async function artifactOf(positional: string): Promise<Artifact> {
  const [, path, os = "", arch = "", musl] =
    /^(.+)=(windows|linux|darwin)\/(amd64|arm64|386)((?<=linux\/\w+)\/musl)?$/.exec(positional) ?? [];
  if (path === undefined) throw new Error(`"${positional}" is not FILE=OS/ARCH[/musl]`);
  const [{ size }, sha256] = [await stat(path), await digestOf(path)];
  return { os, arch, ...(musl ? { libc: "musl" } : {}), size, sha256, name: basename(path) };
}

/** What the platform would refuse: better before it is signed than when it is published. */
function problemsOf({ component, version, counter = "0", expires, minimum }: ManifestOptions, now: Date): string[] {
  const problems: string[] = [];
  if (!["agent", "watchdog", "helper"].includes(component)) problems.push("--component is agent, watchdog or helper");
  if (!semver.test(version)) problems.push(`--version ${version} is not a semantic version`);
  if (!/^\d{1,15}$/.test(counter)) problems.push(`--counter ${counter} is not a whole number`);
  if (minimum && !semver.test(minimum)) problems.push(`--minimum ${minimum} is not a semantic version`);
  if (expires && !(time.test(expires) && new Date(expires) > now))
    problems.push(`--expires ${expires} is not a time in the future, such as 2027-01-01T00:00:00Z`);
  return problems;
}

function problemsOfFiles(artifacts: readonly Artifact[]): string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const { os, arch, libc, name, size } of artifacts) {
    if (size === 0) problems.push(`${name} is empty`);
    if (!/^[A-Za-z0-9][A-Za-z0-9._+-]{0,199}$/.test(name))
      problems.push(`"${name}" is not a valid name of a published file`);
    for (const each of [`called ${name}`, `for ${os}/${arch}${libc ? "/musl" : ""}`])
      if (seen.size === seen.add(each).size) problems.push(`two files are ${each}`);
  }
  return problems;
}

/** What makes signature lines with RELEASE_SIGNING_KEY. */
function signer(): (text: string) => string {
  const [, name = "", base64 = ""] = /^([^:+\s]+):(\S+)$/.exec(process.env.RELEASE_SIGNING_KEY?.trim() ?? "") ?? [];
  if (name === "") throw new Error("RELEASE_SIGNING_KEY holds no key of `muster-release key`");
  const privateKey = createPrivateKey({ key: Buffer.from(base64, "base64"), format: "der", type: "pkcs8" });
  const { hash } = verifierOf(name, createPublicKey(privateKey));
  return (text) => {
    const signature = Buffer.concat([Buffer.from(hash, "hex"), sign(null, Buffer.from(text), privateKey)]);
    return `— ${name} ${signature.toString("base64")}\n`;
  };
}

async function makeRoot(args: string[]): Promise<void> {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ args, options: { number: text, keys: text } });
  const number = Number(values.number);
  if (!Number.isSafeInteger(number) || number < 2 || !values.keys) return wrongUsage();
  const keys = values.keys.split(",").map((key) => key.trim());
  for (const key of keys) publicKeyOf(key);
  const body = `${JSON.stringify({ root: number, keys })}\n`;
  await writeFile("root.note", `${body}\n${signer()(body)}`);
  process.stdout.write(`root.note: root ${number} with ${keys.length} keys; have every new key sign it\n`);
}

async function makeRollback(args: string[]): Promise<void> {
  const text = { type: "string" } as const;
  const options = { component: text, version: text, counter: text, expires: text, scope: text };
  const { values } = parseArgs({ args, options });
  const { component, version, counter, expires, scope = "*" } = values;
  if (!component || !version || !counter || !expires) return wrongUsage();
  const problems = problemsOf({ component, version, counter, expires }, new Date());
  if (scope !== "*" && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(scope))
    problems.push(`--scope ${scope} is no id of an organization`);
  if (problems.length > 0) throw new Error(problems.join("; "));
  const note = { component, version: version.replace(/^v/, ""), counter: Number(counter), scope, expires };
  const body = `${JSON.stringify(note)}\n`;
  await writeFile("rollback.note", `${body}\n${signer()(body)}`);
  process.stdout.write(`rollback.note: ${component} ${note.version} until ${expires}\n`);
}

async function addSignature([file, ...more]: string[]): Promise<void> {
  if (file === undefined || more.length > 0) return wrongUsage();
  const note = await readFile(file, "utf8");
  const split = note.lastIndexOf("\n\n");
  if (split < 0) throw new Error("not a signed note");
  const line = signer()(note.slice(0, split + 1));
  if (!note.includes(line)) await writeFile(file, note + line);
  process.stdout.write(`${file}: signed\n`);
}

/** Whether a note bears the signature of a key, for `text`. */
function isSignedBy({ name, hash, publicKey }: VerifierKey, text: string, signatures: string): boolean {
  return signatures.split("\n").some((line) => {
    const [, by, signature = ""] = /^— (\S+) (\S+)$/u.exec(line) ?? [];
    const bytes = Buffer.from(signature, "base64");
    const isOwn = by === name && bytes.toString("hex", 0, 4) === hash;
    return isOwn && verify(null, Buffer.from(text), publicKey, bytes.subarray(4));
  });
}

/** What a signed manifest or root note says, as far as it is shown or compared here. */
type Signed = {
  artifacts?: { name: string; size: number; sha256: string }[];
  component?: string;
  version?: string;
  root?: number;
};

async function check(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args, options: { key: { type: "string" } }, allowPositionals: true });
  const [file, ...binaries] = positionals;
  if (!values.key || !file) return wrongUsage();
  const note = await readFile(file, "utf8");
  const split = note.lastIndexOf("\n\n");
  if (split < 0) throw new Error("not a signed note");
  const text = note.slice(0, split + 1);
  const key = publicKeyOf(values.key);
  if (!isSignedBy(key, text, note.slice(split + 2))) throw new Error(`${file} is not signed by ${key.name}`);
  const { artifacts = [], component, version, root }: Signed = JSON.parse(text);
  for (const path of binaries) {
    const artifact = artifacts.find((each) => each.name === basename(path));
    if (!artifact) throw new Error(`${path} is not named by the manifest`);
    if (artifact.size !== (await stat(path)).size || artifact.sha256 !== (await digestOf(path)))
      throw new Error(`${path} is another file`);
  }
  const what = root === undefined ? `${component} ${version}` : `root ${root}`;
  process.stdout.write(`${what} is signed by ${key.name}\n`);
}

type VerifierKey = { name: string; hash: string; publicKey: KeyObject };

/** Reads a C2SP verifier key, `name+hash+base64`. */
function publicKeyOf(text: string): VerifierKey {
  const [, name = "", hash = "", base64 = ""] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text) ?? [];
  const blob = Buffer.from(base64, "base64");
  if (blob.length !== 33 || blob[0] !== 1) throw new Error("the key is not name+hash+base64 of an Ed25519 key");
  const publicKey = createPublicKey({ key: Buffer.concat([spki, blob.subarray(1)]), format: "der", type: "spki" });
  if (verifierOf(name, publicKey).hash !== hash) throw new Error("the hash of the key is not its own");
  return { name, hash, publicKey };
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

/** A C2SP verifier key. */
function verifierOf(name: string, publicKey: KeyObject): { hash: string; text: string } {
  const blob = Buffer.concat([Buffer.from([1]), publicKey.export({ type: "spki", format: "der" }).subarray(-32)]);
  const hash = createHash("sha256").update(`${name}\n`).update(blob).digest("hex").slice(0, 8);
  return { hash, text: `${name}+${hash}+${blob.toString("base64")}` };
}
