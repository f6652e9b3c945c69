import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "muster-local-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const cli = join(folder, "cli.mjs");
const tools = join(folder, "tools");

/** What stands for npm: it records its arguments and installs a cluster that reports its settings. */
const fakeNpm = `#!/usr/bin/env node
const fs = require("node:fs");
const args = process.argv.slice(2);
fs.appendFileSync(process.env.NPM_CALLS, args.join(" ") + "\\n");
if (args.at(-1).endsWith("broken.tgz")) process.exit(3);
const [prefix] = args.slice(args.indexOf("--prefix") + 1);
const name = args.at(-1).endsWith("other.tgz") ? "other" : "server";
const to = prefix + "/node_modules/@acme/" + name + "/deploy/local/dist";
fs.mkdirSync(to, { recursive: true });
fs.writeFileSync(to + "/main.js", \`
const { MUSTER_DATA_DIR, PORT } = process.env;
process.on("SIGTERM", () => process.exit(7));
console.log(JSON.stringify({ data: MUSTER_DATA_DIR, port: PORT ?? null }));
if (PORT !== "3999") process.exit(5);
setInterval(() => undefined, 1000);\`);
`;

beforeAll(() => {
  const script = `const [root, file] = process.argv.slice(1);
    const { rolldown } = await import("rolldown");
    const { cliBundle } = await import(root + "deploy/release/npm/cli-bundle.mjs");
    const build = await rolldown(cliBundle("cli-entry.mjs", { version: "1.4.0", scope: "@acme" }));
    await build.write({ file, format: "esm", codeSplitting: false });
    await build.close();`;
  const bundle = join(folder, "bundle.mjs");
  execFileSync(process.execPath, ["--input-type=module", "-e", script, root, bundle], { cwd: root, stdio: "pipe" });
  writeFileSync(cli, 'import { start } from "./bundle.mjs";\nawait start();\n');
  mkdirSync(tools);
  writeFileSync(join(tools, "npm"), fakeNpm);
  chmodSync(join(tools, "npm"), 0o755);
});

/** A folder of its own, and the environment in which npm is the one above. */
function home(name: string) {
  const data = join(folder, name);
  const calls = join(folder, `${name}.calls`);
  const env = { ...process.env, PATH: `${tools}${delimiter}${process.env.PATH}`, NPM_CALLS: calls };
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [cli, "local", "--data", data, ...args], { encoding: "utf8", env, input: "" });
  const installs = () => (existsSync(calls) ? readFileSync(calls, "utf8").split("\n").length - 1 : 0);
  return { data, env, run, installs, calls };
}

describe("muster local", () => {
  it("installs the server of its own version once, and runs it with its exit code", () => {
    const { data, run, installs, calls } = home("once");
    const first = run("--yes", "--port", "3100");
    expect(JSON.parse(first.stdout)).toEqual({ data: join(data, "data"), port: "3100" });
    expect(first.status).toBe(5);
    expect(run()).toMatchObject({ status: 5 });
    expect(installs()).toBe(1);
    expect(readFileSync(calls, "utf8")).toMatch(/--ignore-scripts .* @acme\/server@1\.4\.0\n$/);
    expect(readdirSync(join(data, "server"))).toEqual(["1.4.0"]);
  });

  const refusals: [string, string[], number, RegExp][] = [
    ["without a terminal and --yes", [], 2, /needs --yes/],
    ["with a port that is none", ["--yes", "--port", "x"], 2, /--port/],
    ["where npm fails", ["--yes", "--server", "broken.tgz"], 1, /npm did not install .*exit code 3/],
    ["with another package", ["--yes", "--server", "other.tgz"], 1, /is no @acme\/server/],
  ];
  it.each(refusals)("%s ends with a sentence and leaves no half installation", (name, args, code, problem) => {
    const { data, run } = home(name.replaceAll(" ", "-"));
    const { status, stderr } = run(...args);
    expect([status, stderr]).toEqual([code, expect.stringMatching(problem)]);
    expect(existsSync(join(data, "server")) ? readdirSync(join(data, "server")) : []).toEqual([]);
  });

  it("says so where there is no npm", () => {
    const { data, env } = home("no-npm");
    const args = [cli, "local", "--data", data, "--yes"];
    const { status, stderr } = spawnSync(process.execPath, args, {
      encoding: "utf8",
      env: { ...env, PATH: "/nonexistent" },
    });
    expect([status, stderr]).toEqual([1, expect.stringMatching(/npm cannot be run/)]);
  });

  it("passes a signal on and ends when the cluster has stopped", async () => {
    const { data, env } = home("signal");
    const child = spawn(process.execPath, [cli, "local", "--data", data, "--yes", "--port", "3999"], {
      env,
      stdio: "pipe",
    });
    await once(child.stdout, "data");
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([7, null]);
  });

  it("removes data with --reset, and not those of a cluster that runs", () => {
    const { data, run } = home("reset");
    const kept = join(data, "data", "kept");
    mkdirSync(join(data, "data"), { recursive: true });
    writeFileSync(kept, "");
    const stack = join(data, "data", "stack.json");
    writeFileSync(stack, JSON.stringify({ supervisor: { pid: process.pid } }));
    expect(run("--yes", "--reset")).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/stop it before --reset/),
    });
    expect(existsSync(kept)).toBe(true);
    writeFileSync(stack, JSON.stringify({ supervisor: { pid: 4_194_999 } }));
    expect(run("--reset")).toMatchObject({ status: 2 });
    expect(run("--yes", "--reset").status).toBe(5);
    expect(existsSync(kept)).toBe(false);
  });
});
