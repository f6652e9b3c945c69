// node check.mjs FOLDER [PART…] [--earlier FOLDER]: tries a release as its users do, in empty folders and with nothing
// of this checkout on PATH, and its upgrade from an earlier one. A part whose tool is missing is named as not run,
// which under CI=true is a failure.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { prepare } from "../local/prepare.mjs";
import { verifyChecksums } from "./checksums.mjs";

// The checks use compiled parts of the checkout.
prepare();
const { checkAgain } = await import("./check/again.mjs");
const { checkChart } = await import("./check/chart.mjs");
const { checkCluster } = await import("./check/cluster.mjs");
const { checkCompose } = await import("./check/compose.mjs");
const { checkImages } = await import("./check/images.mjs");
const { checkLocal } = await import("./check/local.mjs");
const { checkPackages } = await import("./check/packages.mjs");
const { checkPrograms } = await import("./check/programs.mjs");
const { checkSite } = await import("./check/site.mjs");
const { checkSecrets } = await import("./check/secrets.mjs");

const parts = {
  files: ({ folder }) => verifyChecksums(folder),
  packages: checkPackages,
  programs: checkPrograms,
  images: checkImages,
  chart: checkChart,
  compose: checkCompose,
  site: checkSite,
  secrets: checkSecrets,
  local: checkLocal,
  cluster: checkCluster,
};
/** Not among all parts: a release is made for it. */
const named = { again: checkAgain };
const partOf = (name) => parts[name] ?? named[name];

const { values, positionals } = parseArgs({ allowPositionals: true, options: { earlier: { type: "string" } } });
const [path, ...wanted] = positionals;
const unknown = wanted.find((name) => partOf(name) === undefined);
const names = Object.keys({ ...parts, ...named }).join("|");
if (path === undefined || unknown !== undefined) {
  process.stderr.write(`usage: node deploy/release/check.mjs FOLDER [${names}]… [--earlier FOLDER]\n`);
  process.exit(2);
}
const folder = resolve(path);
const release = JSON.parse(readFileSync(join(folder, "release.json"), "utf8"));
const files = readdirSync(folder);
const earlier = values.earlier === undefined ? undefined : resolve(values.earlier);
const work = mkdtempSync(join(tmpdir(), "muster-check-"));
const say = (line) => process.stdout.write(`  ${line}\n`);
try {
  for (const name of wanted.length > 0 ? wanted : Object.keys(parts)) {
    const began = performance.now();
    const seconds = () => `${((performance.now() - began) / 1000).toFixed(1)} s`;
    const missing = await partOf(name)({ folder, files, release, work: join(work, name), earlier, say });
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
