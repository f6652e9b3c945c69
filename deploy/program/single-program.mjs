// Single programs: one file of everything as a blob, put into the Node of each platform (Node's single executable
// applications). The same sources and options make the same bytes.
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { withoutLanguages } from "./locales.mjs";
import { withSystemLibraries } from "./musl.mjs";
import { nodeProgram } from "./node-program.mjs";
import { ownPlatform, platforms } from "./platforms.mjs";
import { signMac, withoutAuthenticode } from "./sign.mjs";

const require = createRequire(import.meta.url);
// Of every Node program since 20: where a blob may be.
const fuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

/**
 * One file of everything, as a blob that any platform's Node loads.
 *
 * @param {{ bundle: object, output: string, execArgv: string[], work: string, cache: string }} options `bundle` are
 *   options of rolldown, `output` names the blob
 */
export async function makeBlob({ bundle, output, execArgv, work, cache }) {
  const build = await rolldown({ platform: "node", ...bundle });
  await build.write({ file: join(work, "main.cjs"), format: "cjs", codeSplitting: false, minify: true });
  await build.close();
  // The blob holds the path of its main file: relative, so that it is the same everywhere.
  const relative = { main: "main.cjs", output };
  writeFileSync(join(work, "sea.json"), JSON.stringify({ ...relative, disableExperimentalSEAWarning: true, execArgv }));
  const node = await nodeProgram(ownPlatform(), cache);
  execFileSync(node, ["--experimental-sea-config", "sea.json"], { cwd: work, stdio: "pipe" });
  return readFileSync(join(work, output));
}

/**
 * Writes the program of a platform, and returns null; else what is missing here to make it. What cannot be stripped
 * is written larger, and `warn` says so.
 *
 * @param {{ name: string, blob: Buffer, path: string, identifier: string, cache: string, warn: (line: string) => void }} options
 */
export async function makeProgram({ name, blob, path, identifier, cache, warn }) {
  const { os, libc, strip } = platforms[name];
  let program = withoutLanguages(readFileSync(await nodeProgram(name, cache)));
  if (os === "windows") program = withoutAuthenticode(program);
  if (libc === "musl") program = withSystemLibraries(program);
  writeFileSync(path, program);
  chmodSync(path, 0o755);
  // Before the blob: afterwards it would be removed, too.
  const stripped = strip.some((tool) => spawnSync(tool, [path]).status === 0);
  if (strip.length > 0 && !stripped) warn(`${name}: not stripped, none of ${strip.join(", ")} is here`);
  const { inject } = require("postject");
  await inject(path, "NODE_SEA_BLOB", blob, {
    sentinelFuse: fuse,
    ...(os === "darwin" ? { machoSegmentName: "NODE_SEA" } : {}),
  });
  return os === "darwin" ? signMac(path, { identifier, cache, warn }) : null;
}
