import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";

const release = fileURLToPath(new URL("../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "muster-release-"));
/** Beside no packages. */
const bare = join(mkdtempSync(join(tmpdir(), "muster-bare-")), "checkout");
afterAll(() => {
  for (const each of [folder, dirname(bare)]) rmSync(each, { recursive: true, force: true });
});

const files: Record<string, string> = {
  ".gitignore": "dist/\n",
  "package.json": '{\n  "name": "muster",\n  "version": "1.4.0",\n  "workspaces": ["gateway"]\n}\n',
  "gateway/package.json": '{\n  "name": "@muster/gateway",\n  "version": "1.4.0"\n}\n',
  "package-lock.json": JSON.stringify({
    version: "1.4.0",
    packages: { "": { version: "1.4.0" }, gateway: { version: "1.4.0" }, "node_modules/a": { version: "7.0.0" } },
  }),
  "deploy/Dockerfile": "ARG VERSION=1.4.0\n",
  "charts/muster/Chart.yaml": "apiVersion: v2\nname: muster\nversion: 1.4.0\nappVersion: 1.4.0\n",
  "charts/muster/values.yaml": 'image:\n  # -- Where.\n  registry: localhost/muster\n  digests:\n    gateway: ""\n',
  "deploy/compose/compose.yaml":
    "services:\n  # Data.\n  db: { image: postgres }\n  gateway: { image: gateway }\n  old: { image: gateway }\n",
  "charts/muster/.helmignore": "tests/\n",
  "charts/muster/tests/a_test.yaml": "suite: a\n",
  "charts/muster/templates/a.yaml": "kind: List\n",
  "CHANGELOG.md":
    "# Changelog\n\n## Unreleased\n\n### Added\n\n- A `next` thing\n  on two lines.\n\n## [1.4.0] - 2026-01-01\n\n### Fixed\n\n- A fault.\n\n## 1.3.0\n",
};

/** A small checkout with one commit, in a folder of its own. */
function checkout(name: string, changes: Record<string, string> = {}) {
  const root = resolve(folder, name);
  for (const [path, text] of Object.entries({ ...files, ...changes })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const code = join(root, "deploy", "release");
  cpSync(release, code, { recursive: true, filter: (path) => !/\/src(\/|$)/.test(path) });
  const env = { ...process.env, GIT_AUTHOR_DATE: "@1700000000 +0000", GIT_COMMITTER_DATE: "@1700000000 +0000" };
  execFileSync("git", ["init", "-q"], { cwd: root });
  commit(root, env);
  return root;
}

const identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
function commit(root: string, env = process.env) {
  for (const args of [
    ["add", "-A"],
    ["commit", "-qm", "a"],
  ])
    execFileSync("git", [...identity, ...args], { cwd: root, env });
}

type Wanted = { code: number; problem?: RegExp };
function run(root: string, args: string[], env: Record<string, string> = {}) {
  const script = join(root, "deploy", "release", "release.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    encoding: "utf8",
    env: { ...process.env, RELEASE_MINISIGN_KEY: "", ...env },
  });
  return { code: status ?? -1, stdout, stderr };
}

const inTar = (file: string, path: string) => execFileSync("tar", ["-xzOf", file, path], { encoding: "utf8" });
const listed = (file: string) => execFileSync("tar", ["-tzf", file], { encoding: "utf8" }).split("\n").filter(Boolean);
const chartOnly = ["--unpublished", "--only", "chart"];
const composeOnly = ["--unpublished", "--only", "compose"];
const postgres = `registry.example/postgres@sha256:${"5".repeat(64)}`;
const published = ["--postgres", postgres];

beforeAll(() => {
  // The packages of this checkout, for the copies of the command.
  const modules = fileURLToPath(new URL("../../../node_modules", import.meta.url));
  execFileSync("ln", ["-s", modules, join(folder, "node_modules")]);
});

describe("a release", () => {
  it("is the same bytes in another folder, under another umask and another clock", () => {
    const [one, two] = [checkout("one"), checkout("two")];
    chmodSync(join(two, "charts/muster/templates/a.yaml"), 0o600);
    expect(run(one, ["1.5.0", ...chartOnly])).toMatchObject({ code: 0 });
    const later = spawnSync(
      "sh",
      [
        "-c",
        'umask 077; exec "$@"',
        "sh",
        process.execPath,
        join(two, "deploy/release/release.mjs"),
        "1.5.0",
        ...chartOnly,
      ],
      { encoding: "utf8", env: { ...process.env, TZ: "Asia/Tokyo", RELEASE_MINISIGN_KEY: "" } },
    );
    expect(later.stderr).toBe("");
    const made = join(two, "dist/release/1.5.0");
    expect(readdirSync(made).filter((name) => (statSync(join(made, name)).mode & 0o777) !== 0o644)).toEqual([]);
    const sums = (root: string) => readFileSync(join(root, "dist/release/1.5.0/SHA256SUMS"), "utf8");
    expect(sums(two)).toBe(sums(one));
    expect(
      sums(one)
        .split("\n")
        .map((line) => line.slice(66)),
    ).toEqual(["muster-1.5.0.tgz", "notes.md", "release.json", ""]);
  });

  it("has a chart with its version, its changes, and neither tests nor values of CI", () => {
    const root = checkout("chart");
    const args = [
      "1.5.0-rc.1",
      ...chartOnly,
      "--registry",
      "registry.example/m",
      "--source",
      "https://example.com/muster",
    ];
    expect(run(root, args)).toMatchObject({ code: 0 });
    const chart = join(root, "dist/release/1.5.0-rc.1/muster-1.5.0-rc.1.tgz");
    expect(listed(chart)).toEqual(["muster/Chart.yaml", "muster/templates/a.yaml", "muster/values.yaml"]);
    const about = inTar(chart, "muster/Chart.yaml");
    expect(about).toContain("\nversion: 1.5.0-rc.1\nappVersion: 1.5.0-rc.1\n");
    expect(about).toContain('artifacthub.io/prerelease: "true"');
    expect(about).toContain("- kind: added\n      description: A next thing on two lines.");
    expect(about).toContain("home: https://example.com/muster");
    expect(inTar(chart, "muster/values.yaml")).toContain("  # -- Where.\n  registry: registry.example/m\n");
    expect(readFileSync(join(root, "dist/release/1.5.0-rc.1/notes.md"), "utf8")).toMatch(
      /^# Muster 1\.5\.0-rc\.1\n\n### Added/,
    );
  });

  it("has a compose file with PostgreSQL by its digest, images by version where none was made", () => {
    const root = checkout("compose");
    expect(run(root, ["1.5.0", ...composeOnly, ...published])).toMatchObject({ code: 0 });
    const text = readFileSync(join(root, "dist/release/1.5.0/compose.yaml"), "utf8");
    expect(text).toContain(`  # Data.\n  db: { image: ${postgres} }\n`);
    expect(text.match(/localhost\/muster\/gateway:1\.5\.0/g)).toHaveLength(2);
  });

  it("says that a try's compose file names PostgreSQL by its tag", () => {
    const root = checkout("compose-tried");
    const { stdout, code } = run(root, ["1.5.0", ...composeOnly]);
    expect(code).toBe(0);
    expect(stdout).toContain("not made: digest of PostgreSQL in compose.yaml: no --postgres");
  });

  it("is made of an earlier commit, whose chart knows images by their tag", () => {
    const root = checkout("earlier", { "charts/muster/values.yaml": "image:\n  registry: a\n" });
    writeFileSync(join(root, "charts/muster/templates/b.yaml"), "kind: List\n");
    commit(root);
    expect(run(root, ["1.3.0", ...chartOnly, "--commit", "HEAD~1"])).toMatchObject({ code: 0, stderr: "" });
    const chart = join(root, "dist/release/1.3.0/muster-1.3.0.tgz");
    expect(listed(chart)).toEqual(["muster/Chart.yaml", "muster/templates/a.yaml", "muster/values.yaml"]);
    expect(inTar(chart, "muster/values.yaml")).toBe("image:\n  registry: localhost/muster\n");
  });

  it("is refused by a sentence where the checkout has no packages and no part installs them", () => {
    const root = checkout(bare);
    const { code, stderr } = run(root, ["1.5.0", ...chartOnly, "--out", join(bare, "..", "out")]);
    expect(stderr).toMatch(/the package yaml is not installed: npm ci/);
    expect(code).toBe(7);
  });

  const refusals: (Wanted & { it: string; args: string[]; prepare?: (root: string) => void })[] = [
    { it: "a version of two numbers", args: ["1.4"], code: 2, problem: /1\.4 is no semantic version/ },
    { it: "no version", args: [], code: 2, problem: /Usage/ },
    { it: "an unknown option", args: ["1.4.0", "--fast"], code: 2, problem: /--fast/ },
    { it: "a base without a digest", args: ["1.4.0", "--base", "node:24"], code: 2, problem: /names no digest/ },
    {
      it: "a version to publish without PostgreSQL",
      args: ["1.4.0"],
      code: 2,
      problem: /needs --postgres NAME@sha256/,
    },
    {
      it: "PostgreSQL without a digest",
      args: ["1.4.0", "--postgres", "postgres:18"],
      code: 2,
      problem: /--postgres postgres:18 names no digest/,
    },
    {
      it: "a part alone of a published version",
      args: ["1.4.0", "--only", "chart", ...published],
      code: 2,
      problem: /--unpublished/,
    },
    {
      it: "a part that is none",
      args: ["1.4.0", "--unpublished", "--only", "char"],
      code: 2,
      problem: /char is no part/,
    },
    {
      it: "a published version of another commit",
      args: ["1.4.0", "--commit", "HEAD", ...published],
      code: 2,
      problem: /--commit needs --unpublished/,
    },
    {
      it: "a commit that is none",
      args: ["1.4.0", ...chartOnly, "--commit=--output=a"],
      code: 2,
      problem: /no commit --output=a/,
    },
    {
      it: "a commit that the checkout lacks",
      args: ["1.4.0", ...chartOnly, "--commit", "5".repeat(40)],
      code: 2,
      problem: /the checkout has no commit 5+\./,
    },
    {
      it: "packages of a commit that is older than this program",
      args: ["1.3.0", "--unpublished", "--only", "npm", "--commit", "HEAD~1"],
      prepare: (root) => {
        // The commit before has no release program.
        const own = join(root, "deploy/release");
        execFileSync("git", ["rm", "-rq", "--cached", "deploy/release"], { cwd: root });
        execFileSync("git", [...identity, "commit", "-q", "--amend", "-m", "a"], { cwd: root });
        expect(existsSync(own)).toBe(true);
        commit(root);
      },
      code: 2,
      problem: /has no npm: --only images or chart/,
    },
    {
      it: "a version that was made already",
      args: ["1.4.0", ...chartOnly],
      prepare: (root) => mkdirSync(join(root, "dist/release/1.4.0"), { recursive: true }),
      code: 3,
      problem: /exists/,
    },
    {
      it: "a version with a tag",
      args: ["1.4.0", ...published],
      prepare: (root) => void execFileSync("git", ["tag", "v1.4.0"], { cwd: root }),
      code: 3,
      problem: /tag v1\.4\.0/,
    },
    {
      it: "a file that no commit holds",
      args: ["1.4.0", ...chartOnly],
      prepare: (root) => writeFileSync(join(root, "charts/muster/templates/b.yaml"), ""),
      code: 4,
      problem: /b\.yaml/,
    },
    { it: "a version without a section", args: ["1.9.0", ...published], code: 5, problem: /no section 1\.9\.0/ },
    { it: "an empty section", args: ["1.3.0", ...published], code: 5, problem: /no section 1\.3\.0/ },
    {
      it: "a checkout of another version",
      args: ["1.4.0", ...published],
      prepare: (root) => {
        writeFileSync(join(root, "package.json"), files["package.json"]?.replace("1.4.0", "1.4.0-dev") ?? "");
        commit(root);
      },
      code: 6,
      problem: /the checkout is version 1\.4\.0-dev/,
    },
  ];
  it.each(refusals)(
    "is refused for $it with code $code, and nothing is left",
    ({ args, prepare, code, problem, it: name }) => {
      const root = checkout(name.replaceAll(" ", "-"));
      prepare?.(root);
      const before = existsSync(join(root, "dist/release")) ? readdirSync(join(root, "dist/release")) : [];
      const { stderr, ...result } = run(root, args);
      expect(result.code).toBe(code);
      expect(stderr).toMatch(problem ?? /./);
      expect(existsSync(join(root, "dist/release")) ? readdirSync(join(root, "dist/release")) : []).toEqual(before);
    },
  );

  it("leaves nothing when it fails midway or was killed", () => {
    const root = checkout("half", { "charts/muster/values.yaml": "image: [\n" });
    mkdirSync(join(root, "dist/release/.1.5.0.4194999/out"), { recursive: true });
    expect(run(root, ["1.5.0", ...chartOnly]).code).toBe(1);
    expect(readdirSync(join(root, "dist/release"))).toEqual([]);
  });
});

describe("verifying a release", () => {
  const made = (name: string) => {
    const root = checkout(name);
    expect(run(root, ["1.5.0", ...chartOnly])).toMatchObject({ code: 0 });
    return { root, out: join(root, "dist/release/1.5.0") };
  };

  it("passes for what was made", () => {
    const { root, out } = made("whole");
    expect(run(root, ["verify", out])).toMatchObject({ code: 0 });
    execFileSync("sha256sum", ["--check", "--strict", "--quiet", "SHA256SUMS"], { cwd: out });
  });

  const changes: [string, (out: string) => void, RegExp][] = [
    ["a changed byte", (out) => writeFileSync(join(out, "notes.md"), "x", { flag: "a" }), /notes\.md is not what/],
    ["a missing file", (out) => rmSync(join(out, "notes.md")), /notes\.md is missing/],
    ["a file that is not listed", (out) => writeFileSync(join(out, "more"), ""), /more is not in/],
    ["checksums of another form", (out) => writeFileSync(join(out, "SHA256SUMS"), "x\n"), /another form/],
    ["no checksums", (out) => rmSync(join(out, "SHA256SUMS")), /has no SHA256SUMS/],
  ];
  it.each(changes)("is refused for %s", (name, change, problem) => {
    const { root, out } = made(name.replaceAll(" ", "_"));
    change(out);
    const { code, stderr } = run(root, ["verify", out]);
    expect(code).toBe(9);
    expect(stderr).toMatch(problem);
  });
});

describe("a signed release", () => {
  const minisign = (...args: string[]) => spawnSync("minisign", args, { encoding: "utf8", input: "" });
  const isHere = minisign("-v").error === undefined;

  (isHere ? it : it.skip)("verifies with the public key, and with no other", () => {
    for (const name of ["own", "other"]) {
      const made = minisign("-G", "-W", "-p", join(folder, `${name}.pub`), "-s", join(folder, `${name}.key`));
      expect(made.status).toBe(0);
    }
    const root = checkout("signed");
    const out = join(root, "dist/release/1.5.0");
    const signed = run(root, ["1.5.0", ...chartOnly], { RELEASE_MINISIGN_KEY: join(folder, "own.key") });
    expect(signed).toMatchObject({ code: 0 });
    expect(run(root, ["verify", out, "--key", join(folder, "own.pub")])).toMatchObject({ code: 0 });
    expect(run(root, ["verify", out, "--key", join(folder, "other.pub")])).toMatchObject({ code: 9 });
  });

  it("is not made without its key", () => {
    const root = checkout("unsigned");
    const { code, stderr } = run(root, ["1.5.0", ...chartOnly], { RELEASE_MINISIGN_KEY: join(folder, "no-such.key") });
    expect(code).toBe(7);
    expect(stderr).toMatch(/no-such\.key/);
  });
});
