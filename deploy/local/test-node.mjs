// `npm run test:node -- [VERSION] [files]`: the suites of services (or those files) and one start of the cluster on another
// version of Node, by default 24, which images run. The program comes out of npm.
import "./check-node.mjs";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const { prepare, root } = await import("./prepare.mjs");
prepare({ client: true });

const [version = "24", ...files] = process.argv.slice(2);
const name = `node-${process.platform}-${process.arch}`;
const folder = join(root, ".muster", `node-${version}`);
const node = join(folder, "node_modules", name, "bin", "node");

function run(program, args, options = {}) {
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: "inherit", ...options });
  if (error) console.error(error.message);
  return status ?? 1;
}

if (!existsSync(node)) {
  const args = ["install", "--prefix", folder, "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"];
  if (run("npm", [...args, `${name}@${version}`]) !== 0 || !existsSync(node)) {
    console.log(`not run: suites on Node ${version}, which npm has not as ${name}`);
    process.exit(process.env.CI === "true" ? 1 : 0);
  }
}
console.log(`Node ${JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8")).version}`);
// What a process of the cluster or a suite starts as `node` is that version, too.
const env = { ...process.env, PATH: `${join(node, "..")}:${process.env.PATH}` };
const start = `const { startStack } = await import(${JSON.stringify(join(root, "deploy", "local", "dist", "index.js"))});
const { stack, stop } = await startStack({ adminPassword: "correct horse battery staple" });
const reply = await fetch(stack.gateways[0].url + "/health");
console.log("a cluster on Node " + process.versions.node + ": " + reply.status + " " + (await reply.text()).slice(0, 60));
await stop();
process.exit(reply.ok ? 0 : 1);`;
const started = run(node, ["--input-type=module", "-e", start], { env });
const suites = run(node, ["deploy/local/jest/run.mjs", ...(files.length > 0 ? files : ["services/"])], { env });
process.exit(started || suites);
