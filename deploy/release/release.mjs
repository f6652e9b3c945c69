// `npm run release -- VERSION` makes everything of a release, `npm run release -- verify FOLDER` verifies one
// (README.md). Exit codes: refusal.mjs.
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { verifyChecksums } from "./checksums.mjs";
import { makeRelease } from "./make-release.mjs";
import { optionsOf, usage } from "./options.mjs";
import { partNames } from "./parts.mjs";
import { exitCodeOf, Refusal } from "./refusal.mjs";
import { verifySignature } from "./signature.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const say = (line) => process.stdout.write(`${line}\n`);

async function verify(args) {
  const { values, positionals } = parseArgs({ args, options: { key: { type: "string" } }, allowPositionals: true });
  const [folder, ...more] = positionals;
  if (folder === undefined || more.length > 0) throw new Refusal("usage", usage);
  await verifyChecksums(resolve(folder));
  if (values.key) verifySignature(resolve(folder), resolve(values.key));
  say(`${folder}: all files are as listed${values.key ? " and signed" : ""}`);
}

async function main([command, ...rest]) {
  if (command === "--help" || command === "-h") return say(usage);
  if (command === "verify") return verify(rest);
  const options = optionsOf(process.argv.slice(2), partNames);
  const folder = join(resolve(options.out ?? join(root, "dist", "release")), options.version);
  await makeRelease({ root, folder, options, say });
}

// Programs that make parts refuse folders that only their owner reads, and a release is everybody's.
process.umask(0o022);
try {
  await main(process.argv.slice(2));
} catch (error) {
  const isRefusal = error instanceof Refusal;
  process.stderr.write(`release: ${isRefusal ? error.message : (error?.stack ?? error)}\n`);
  process.exitCode = exitCodeOf(error);
}
