import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { openSpool } from "@muster/agent";
import { generateNoteKey, noteKeys } from "@muster/kit";
import { until } from "@muster/testing";
import { readStored, writeDurably } from "./durable.ts";
import { diskError } from "./exit-codes.ts";
import { type FakePlatform, publish, scriptOf, startFakePlatform } from "./testing/fake-platform.ts";
import { canMount, mountSmallDisk, remount, unmount } from "./testing/small-disk.ts";

const main = join(import.meta.dirname, "../dist/main.js");
const signer = noteKeys(generateNoteKey("releases")).signer;
const probe = mkdtempSync(join(tmpdir(), "muster-probe-"));
const mounted = canMount(probe) ? it : it.skip;
rmSync(probe, { recursive: true, force: true });

let folder: string;
let disk: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "muster-disk-"));
  disk = join(folder, "disk");
});
afterEach(() => {
  for (const each of [join(disk, "versions"), disk]) unmount(each);
  rmSync(folder, { recursive: true, force: true });
});

/** Leaves no byte free. */
function fill(): void {
  try {
    for (let n = 0; ; n++) writeFileSync(join(disk, `ballast${n}`), Buffer.alloc(4_096));
  } catch {
    // It is full.
  }
}

describe("a full disk", () => {
  mounted("leaves a stored file as it was, and the spool without half a line", () => {
    mountSmallDisk(disk, 256);
    const path = join(disk, "identity.json");
    writeDurably(path, '{"token":"agt_own"}');
    const spool = openSpool(join(disk, "spool"), 64 * 1024 * 1024);
    spool.append(['{"n":1}']);
    fill();
    const long = JSON.stringify({ token: "x".repeat(300_000) });
    expect(() => writeDurably(path, long)).toThrow("ENOSPC");
    expect(() => spool.append(['{"n":2}', long])).toThrow("ENOSPC");
    expect(readStored(path)).toEqual({ token: "agt_own" });
    for (const name of readdirSync(disk).filter((each) => each.startsWith("ballast"))) rmSync(join(disk, name));
    spool.append(['{"n":3}']);
    expect(spool.next(10, 1e6)?.lines).toEqual(['{"n":1}', '{"n":3}']);
  });

  it("is one line with a code of its own", () => {
    const error = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    expect(diskError(error)).toMatchObject({ exitCode: 7, message: expect.stringContaining("the disk is full") });
    expect(diskError(new Error("other"))).toBeNull();
  });

  mounted.each([
    ["full", "the disk is full", fill],
    ["read-only", "read-only", () => remount(disk, "ro")],
  ])("%s ends an agent with one line, and its token stays", async (_name, message, change) => {
    mountSmallDisk(disk, 256);
    const state = join(disk, "state");
    mkdirSync(state, { mode: 0o700 });
    writeDurably(join(state, "identity.json"), '{"agentId":"device","orgId":"org","token":"agt_own"}');
    const config = join(folder, "config.json");
    const settings = { url: "http://127.0.0.1:9", stateFolder: state, eventLogs: "none", service: false };
    writeFileSync(config, JSON.stringify(settings));
    change();
    const child = spawn(process.execPath, [main, "run", "--config", config], { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(7);
    expect(said.trim().split("\n").at(-1)).toMatch(new RegExp(`^muster-agent: .*${message}`));
    expect(said).not.toContain("    at ");
    expect(readStored(join(state, "identity.json"))).toMatchObject({ token: "agt_own" });
  });
});

describe("an update on a bad disk is reported with its reason, and the running version stays", () => {
  let platform: FakePlatform;
  beforeEach(async () => {
    platform = await startFakePlatform();
    platform.promoted = publish("1.0.0", scriptOf("1.0.0"), signer);
  });
  afterEach(async () => {
    await sh("--uninstall");
    await platform.close();
  });
  const sh = (args: string) =>
    new Promise<number>((resolve) => {
      const line = `curl -fsSL ${platform.url}/install.sh | sh -s -- --prefix ${disk} --no-service ${args}`;
      const env = { ...process.env, MUSTER_ENROLLMENT_KEY: "0f".repeat(32), MUSTER_AGENT_PROOF_SECONDS: "4" };
      execFile("sh", ["-c", line], { env }, (error) => resolve(error ? 1 : 0));
    });

  mounted.each<[string, RegExp, () => void]>([
    ["full", /ENOSPC/, fill],
    ["read-only", /EROFS/, () => remount(join(disk, "versions"), "ro")],
    ["noexec", /noexec/, () => remount(join(disk, "versions"), "noexec")],
  ])("when it is %s", async (_name, reason, change) => {
    mountSmallDisk(disk, 4_096);
    expect(await sh(`--root-key '${signer.text}'`)).toBe(0);
    change();
    // Larger than what may be left of a file system's last page.
    const program = Buffer.from(`${scriptOf("1.1.0")}# ${"random padding ".repeat(200_000)}\n`);
    platform.offered = publish("1.1.0", program, signer);
    const failed = await until(
      "its report",
      () => platform.heartbeats.find(({ update }) => update?.state === "failed"),
      60_000,
    );
    expect(failed).toMatchObject({ agentVersion: "1.0.0", update: { error: expect.stringMatching(reason) } });
    expect(existsSync(join(disk, "current", "muster-agent"))).toBe(true);
    const before = platform.heartbeats.length;
    await until("another heartbeat", () => platform.heartbeats.length > before);
    expect(JSON.parse(readFileSync(join(disk, "state", "identity.json"), "utf8")).token).toBe(
      "agt_secret-of-the-device",
    );
  });
});
