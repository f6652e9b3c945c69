#!/usr/bin/env node
// Makes the agent's programs and their manifests, ready for `sync-directory` and for a release on GitHub. The same
// sources and options make the same bytes.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { fileSuffix, ownPlatform, platforms } from "../program/platforms.mjs";
import { makeBlob, makeProgram } from "../program/single-program.mjs";
import { makeDeb } from "./deb.mjs";
import { makeRpm } from "./rpm.mjs";

const usage = `Usage: npm run agent:build -- --version V [options]

  --version V        semantic version of the programs
  --platform NAME    one of ${Object.keys(platforms).join(", ")}; repeatable (this machine's)
  --root-key KEY     verifier key of release manifests that is built in; repeatable. Without one the program says
                     "development key", and trusts the keys of its config alone
  --deb, --rpm       packages of each Linux program for glibc, too (need dpkg-deb, rpmbuild)
  --entry FILE       another main file, to make a version that fails
  --counter N        counter of the manifests (seconds since 1970)
  --expires TIME     until when the manifests count
  --out DIR          folder of the version's folder (.muster/agent-releases)

RELEASE_SIGNING_KEY (of \`muster-release key\`) signs the manifests; without it they are unsigned.
`;
const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const cache = join(root, "node_modules", ".cache", "muster-agent");
/** Bytes that a machine downloads at most. */
const packedMax = 42_000_000;
const versionForm = /^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}(-[0-9A-Za-z.-]+)?$/;

const { values } = parseArgs({
  options: {
    version: { type: "string" },
    platform: { type: "string", multiple: true },
    "root-key": { type: "string", multiple: true },
    counter: { type: "string" },
    expires: { type: "string" },
    deb: { type: "boolean" },
    rpm: { type: "boolean" },
    entry: { type: "string" },
    out: { type: "string" },
    help: { type: "boolean" },
  },
});
const version = (values.version ?? "").replace(/^v/, "");
const wanted = values.platform ?? [ownPlatform()];
const unknown = wanted.find((name) => !(name in platforms));
if (values.help || !versionForm.test(version) || unknown !== undefined) {
  process.stderr.write(`${unknown === undefined ? "" : `${unknown} is no platform\n\n`}${usage}`);
  process.exit(values.help ? 0 : 2);
}
const packages = [...(values.deb ? [makeDeb] : []), ...(values.rpm ? [makeRpm] : [])];
const counter = Number(values.counter ?? Math.floor(Date.now() / 1000));
const folder = join(resolve(values.out ?? join(root, ".muster", "agent-releases")), version);
// Packages have their folders' modes.
process.umask(0o022);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const work = join(cache, `work-${process.pid}`);
mkdirSync(work, { recursive: true });
try {
  const blob = await makeBlob(agent(work));
  const artifacts = [];
  for (const name of wanted) {
    const artifact = await makeArtifact(name, blob, work);
    if (artifact) artifacts.push(artifact);
  }
  if (artifacts.length === 0) throw new Error("no program was written");
  for (const component of ["agent", "watchdog"]) writeManifest(component, artifacts);
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** What the blob is made of. */
function agent(work) {
  return {
    bundle: {
      input: resolve(values.entry ?? join(here, "src", "main.ts")),
      resolve: { conditionNames: ["source", "node", "import", "default"] },
      external: ["bufferutil", "utf-8-validate"],
      transform: {
        define: {
          MUSTER_AGENT_VERSION: JSON.stringify(version),
          MUSTER_AGENT_ROOT_KEYS: JSON.stringify((values["root-key"] ?? []).join(",")),
        },
      },
    },
    output: "agent.blob",
    // A small heap: what an agent makes is short-lived and little. After a backlog its processes have half of the
    // memory that they have otherwise (114 for 200 MB).
    execArgv: ["--max-semi-space-size=1", "--optimize-for-size"],
    work,
    cache,
  };
}

async function makeArtifact(name, blob, work) {
  const { os, arch, libc } = platforms[name];
  const path = join(work, "program");
  const warn = (line) => process.stderr.write(`${line}\n`);
  const missing = await makeProgram({ name, blob, path, identifier: "com.muster.agent", cache, warn });
  if (missing !== null) {
    warn(`${name}: not written, since ${missing}`);
    return null;
  }
  const program = readFileSync(path);
  const packed = gzipSync(program, { level: 9 });
  if (packed.length > packedMax) throw new Error(`${name}: ${packed.length} bytes packed, ${packedMax} at most`);
  const suffix = `${fileSuffix(platforms[name])}.gz`;
  const file = join(folder, `muster-agent-${suffix}`);
  writeFileSync(file, packed);
  linkSync(file, join(folder, `muster-watchdog-${suffix}`));
  const release = { ...measured(program), counter };
  for (const make of os === "linux" && libc === undefined ? packages : [])
    make({ version, arch, program: path, release, folder, work });
  const mebibytes = (bytes) => `${(bytes.length / 1e6).toFixed(1)} MB`;
  process.stdout.write(`${name}: ${mebibytes(program)}, ${mebibytes(packed)} packed\n`);
  return {
    os,
    arch,
    ...(libc ? { libc } : {}),
    ...measured(packed),
    suffix,
    encoding: "gzip",
    program: measured(program),
  };
}

function writeManifest(component, artifacts) {
  const manifest = {
    version,
    component,
    counter,
    ...(values.expires ? { expires: values.expires } : {}),
    // Agents that know nothing of C libraries take the first of their system.
    artifacts: artifacts
      .toSorted((a, b) => Number("libc" in a) - Number("libc" in b))
      .map(({ suffix, ...artifact }) => ({ ...artifact, name: `muster-${component}-${suffix}` })),
  };
  const file = join(folder, `${component}.manifest`);
  writeFileSync(file, `${JSON.stringify(manifest)}\n\n`);
  if (process.env.RELEASE_SIGNING_KEY) {
    execFileSync(process.execPath, [join(here, "..", "cli", "dist", "muster-release.js"), "sign", file], {
      stdio: "inherit",
    });
  } else if (existsSync(file)) process.stdout.write(`${file}: unsigned\n`);
}

function measured(bytes) {
  return { size: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
}
