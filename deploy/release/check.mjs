// node check.mjs FOLDER [PART…]: tries a release as its users do, in empty folders and with nothing of this checkout on
// PATH. A part whose tool is missing is named as not run, which under CI=true is a failure.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { checkChart } from "./check/chart.mjs";
import { checkCompose } from "./check/compose.mjs";
import { checkImages } from "./check/images.mjs";
import { checkLocal } from "./check/local.mjs";
import { checkPackages } from "./check/packages.mjs";
import { checkPrograms } from "./check/programs.mjs";
import { checkSecrets } from "./check/secrets.mjs";
import { verifyChecksums } from "./checksums.mjs";

const parts = {
  files: ({ folder }) => verifyChecksums(folder),
  packages: checkPackages,
  programs: checkPrograms,
  images: checkImages,
  chart: checkChart,
  compose: checkCompose,
  secrets: checkSecrets,
  local: checkLocal,
};

const [path, ...wanted] = process.argv.slice(2);
const unknown = wanted.find((name) => !(name in parts));
if (path === undefined || unknown !== undefined) {
  process.stderr.write(`usage: node deploy/release/check.mjs FOLDER [${Object.keys(parts).join("|")}]…\n`);
  process.exit(2);
}
const folder = resolve(path);
const release = JSON.parse(readFileSync(join(folder, "release.json"), "utf8"));
const files = readdirSync(folder);
const work = mkdtempSync(join(tmpdir(), "muster-check-"));
const say = (line) => process.stdout.write(`  ${line}\n`);
try {
  for (const name of wanted.length > 0 ? wanted : Object.keys(parts)) {
    const began = performance.now();
    const seconds = () => `${((performance.now() - began) / 1000).toFixed(1)} s`;
    const missing = await parts[name]({ folder, files, release, work: join(work, name), say });
    if (typeof missing === "string") {
      process.stdout.write(`${name}: not run: ${missing}\n`);
      if (process.env.CI === "true") process.exitCode = 1;
    } else process.stdout.write(`${name}: passed in ${seconds()}\n`);
  }
} catch (error) {
  process.stderr.write(`${error.stack ?? error}\n`);
  process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}
