import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { fileSuffix, platforms } from "../program/platforms.mjs";
import { makeBlob, makeProgram } from "../program/single-program.mjs";
import { cache } from "./cache.mjs";
import { cliBundle } from "./npm/cli-bundle.mjs";

/** Writes the command line as a program of each platform: `muster-VERSION-OS-ARCH.gz`, with the blob in its Node. */
export async function makePrograms({ work, out, version, scope, say, notMade }) {
  const folder = join(work, "programs");
  mkdirSync(folder, { recursive: true });
  const bundle = cliBundle("single-entry.mjs", { version, scope });
  const blob = await makeBlob({ bundle, output: "muster.blob", execArgv: [], work: folder, cache });
  const path = join(folder, "program");
  for (const [name, platform] of Object.entries(platforms)) {
    const missing = await makeProgram({ name, blob, path, identifier: "com.muster.cli", cache, warn: say });
    if (missing !== null) {
      notMade.push({ part: `programs ${name}`, reason: missing });
      continue;
    }
    chmodSync(path, 0o755);
    const packed = gzipSync(readFileSync(path), { level: 9 });
    writeFileSync(join(out, `muster-${version}-${fileSuffix(platform)}.gz`), packed);
    say(`  ${name}: ${(packed.length / 1e6).toFixed(1)} MB`);
  }
  rmSync(folder, { recursive: true });
}
