import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { nextRoot, noteKeys, openNote, parseVerifier } from "@muster/kit";

const program = fileURLToPath(new URL("../dist/muster-release.js", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "muster-release-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (args: string[], env: Record<string, string> = {}) =>
  spawnSync(process.execPath, [program, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
    encoding: "utf8",
  });

let privateKey: string;
let publicKey: string;
beforeAll(() => {
  const made = run(["key", "releases.example.test"]);
  privateKey = made.stdout.trim();
  publicKey = made.stderr.trim().replace("RELEASE_MANIFEST_KEYS=", "");
  for (const libc of ["", "-musl"]) writeFileSync(join(folder, `muster-agent-linux-amd64${libc}`), "binary");
});

describe("muster-release", () => {
  it("makes a manifest that the platform takes, with keys that it reads", () => {
    const wanted = [
      "--component",
      "agent",
      "--version",
      "v1.4.0",
      "--counter",
      "7",
      "muster-agent-linux-amd64-musl=linux/amd64/musl",
      "muster-agent-linux-amd64=linux/amd64",
    ];
    expect(run(["manifest", ...wanted], { RELEASE_SIGNING_KEY: privateKey }).status).toBe(0);
    const note = readFileSync(join(folder, "agent.manifest"), "utf8");
    const { text } = openNote(note, [parseVerifier(publicKey)]);
    expect(JSON.parse(text)).toMatchObject({
      version: "1.4.0",
      component: "agent",
      counter: 7,
      artifacts: [
        { os: "linux", arch: "amd64", size: 6, name: "muster-agent-linux-amd64" },
        { os: "linux", arch: "amd64", libc: "musl", size: 6, name: "muster-agent-linux-amd64-musl" },
      ],
    });
    expect(noteKeys(privateKey).signer.text).toBe(publicKey);
  });

  it("signs a rollback note, for all devices or for one organization", () => {
    const wanted = [
      "--component",
      "agent",
      "--version",
      "v1.3.0",
      "--counter",
      "7",
      "--expires",
      "2100-01-01T00:00:00Z",
    ];
    expect(run(["rollback", ...wanted], { RELEASE_SIGNING_KEY: privateKey }).status).toBe(0);
    const { text } = openNote(readFileSync(join(folder, "rollback.note"), "utf8"), [parseVerifier(publicKey)]);
    expect(JSON.parse(text)).toEqual({
      component: "agent",
      version: "1.3.0",
      counter: 7,
      scope: "*",
      expires: "2100-01-01T00:00:00Z",
    });
    const bad = run(["rollback", ...wanted, "--scope", "everybody"], { RELEASE_SIGNING_KEY: privateKey });
    expect([bad.status, bad.stderr]).toEqual([1, expect.stringContaining("--scope everybody is no id")]);
  });

  const file = "muster-agent-linux-amd64=linux/amd64";
  it.each([
    ["another component", ["--component", "agnet", "--version", "1.4.0", file], "--component is agent"],
    ["a version of two numbers", ["--component", "helper", "--version", "1.4", file], "not a semantic version"],
    ["a counter that is none", ["--component", "helper", "--version", "1.4.0", "--counter", "x", file], "whole number"],
    [
      "a time in the past",
      ["--component", "helper", "--version", "1.4.0", "--expires", "2020-01-01T00:00:00Z", file],
      "in the future",
    ],
    [
      "one platform twice",
      ["--component", "helper", "--version", "1.4.0", file, "other=linux/amd64"],
      "for linux/amd64",
    ],
    [
      "one name twice",
      ["--component", "helper", "--version", "1.4.0", file, "dist/muster-agent-linux-amd64=linux/arm64"],
      "called",
    ],
    [
      "musl twice",
      ["--component", "helper", "--version", "1.4.0", "other=linux/amd64/musl", "third=linux/amd64/musl"],
      "musl",
    ],
    [
      "musl of Windows",
      ["--component", "helper", "--version", "1.4.0", "other=windows/amd64/musl"],
      "is not FILE=OS/ARCH",
    ],
    ["an empty file", ["--component", "helper", "--version", "1.4.0", "empty=linux/386"], "empty is empty"],
  ])("signs nothing that the platform would refuse: %s", (_, args, why) => {
    mkdirSync(join(folder, "dist"), { recursive: true });
    for (const name of ["other", "third", "dist/muster-agent-linux-amd64"]) writeFileSync(join(folder, name), "binary");
    writeFileSync(join(folder, "empty"), "");
    const { status, stderr } = run(["manifest", ...args], { RELEASE_SIGNING_KEY: privateKey });
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining(why) });
    expect(existsSync(join(folder, "helper.manifest"))).toBe(false);
  });

  it("verifies manifest and binaries, and refuses what was changed or signed by another key", () => {
    const check = (...args: string[]) => run(["verify", "--key", publicKey, ...args]);
    expect(check("agent.manifest", "muster-agent-linux-amd64")).toMatchObject({
      status: 0,
      stdout: "agent 1.4.0 is signed by releases.example.test\n",
    });
    const note = readFileSync(join(folder, "agent.manifest"), "utf8");
    writeFileSync(join(folder, "changed.manifest"), note.replace("1.4.0", "1.5.0"));
    expect(check("changed.manifest").status).toBe(1);
    writeFileSync(join(folder, "muster-agent-linux-amd64"), "BINARY");
    expect(check("agent.manifest", "muster-agent-linux-amd64").status).toBe(1);
    const other = run(["key", "releases.example.test"]).stderr.trim().replace("RELEASE_MANIFEST_KEYS=", "");
    expect(run(["verify", "--key", other, "agent.manifest"]).status).toBe(1);
    expect(run(["manifest"]).status).toBe(2);
  });

  it("exchanges the keys by a root note that the old and the new key sign", () => {
    const next = run(["key", "next.example.test"]);
    const [nextPrivate, nextPublic] = [next.stdout.trim(), next.stderr.trim().replace("RELEASE_MANIFEST_KEYS=", "")];
    const before = { number: 1, keys: [parseVerifier(publicKey)] };
    const note = () => readFileSync(join(folder, "root.note"), "utf8");
    expect(run(["root", "--number", "2", "--keys", nextPublic], { RELEASE_SIGNING_KEY: privateKey }).status).toBe(0);
    expect(() => nextRoot(before, note())).toThrow("signed by no known key");
    expect(run(["sign", "root.note"], { RELEASE_SIGNING_KEY: nextPrivate }).status).toBe(0);
    expect(nextRoot(before, note())).toMatchObject({ number: 2, keys: [{ text: nextPublic }] });
    expect(run(["verify", "--key", nextPublic, "root.note"]).stdout).toBe("root 2 is signed by next.example.test\n");
    expect(run(["root", "--number", "2", "--keys", "nonsense"], { RELEASE_SIGNING_KEY: privateKey }).status).toBe(1);
    expect(run(["root", "--number", "1", "--keys", nextPublic], { RELEASE_SIGNING_KEY: privateKey }).status).toBe(2);
  });
});
