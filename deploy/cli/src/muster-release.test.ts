import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { nextRoot, noteKeys, openNote, parseVerifier } from "@muster/kit";

const program = fileURLToPath(new URL("../muster-release.mjs", import.meta.url));
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
  writeFileSync(join(folder, "muster-agent-linux-amd64"), "binary");
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
      "muster-agent-linux-amd64=linux/amd64",
    ];
    expect(run(["manifest", ...wanted], { RELEASE_SIGNING_KEY: privateKey }).status).toBe(0);
    const note = readFileSync(join(folder, "agent.manifest"), "utf8");
    const { text } = openNote(note, [parseVerifier(publicKey)]);
    expect(JSON.parse(text)).toMatchObject({
      version: "1.4.0",
      component: "agent",
      counter: 7,
      artifacts: [{ os: "linux", arch: "amd64", size: 6, name: "muster-agent-linux-amd64" }],
    });
    expect(noteKeys(privateKey).signer.text).toBe(publicKey);
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
