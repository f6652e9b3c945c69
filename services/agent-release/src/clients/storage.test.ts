import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { directoryStorage } from "./storage.ts";

const folder = mkdtempSync(join(tmpdir(), "muster-store-"));
const storage = directoryStorage(join(folder, "store"));
const bytes = randomBytes(1_000_003);
const sha256 = createHash("sha256").update(bytes).digest("hex");
beforeAll(async () => {
  writeFileSync(join(folder, "file"), bytes);
  await storage.putFile(sha256, join(folder, "file"), bytes.length);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** As a stream does: every part is copied before the next is requested. */
async function read(start: number, end: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of (await storage.read(sha256, start, end)) ?? []) parts.push(Buffer.from(part));
  return Buffer.concat(parts);
}

const isLinux = process.platform === "linux";
const openFiles = () =>
  (isLinux ? readdirSync("/proc/self/fd") : []).filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).endsWith(sha256);
    } catch {
      return false; // The file was closed since it was listed.
    }
  });

describe("a folder of binaries", () => {
  it.each([
    ["all of a file", 0, bytes.length],
    ["its first byte", 0, 1],
    ["its last byte", bytes.length - 1, bytes.length],
    ["what spans several reads", 100, 900_000],
    ["nothing", 7, 7],
  ])("reads %s", async (_, start, end) => {
    expect((await read(start, end)).equals(bytes.subarray(start, end))).toBe(true);
    expect(openFiles()).toEqual([]);
  });

  it("closes a file that is not read to its end", async () => {
    for await (const part of (await storage.read(sha256, 0, bytes.length)) ?? []) {
      expect(part.length).toBeGreaterThan(0);
      expect(openFiles()).toHaveLength(isLinux ? 1 : 0);
      break;
    }
    expect(openFiles()).toEqual([]);
  });

  it("ends early at the end of a file that is shorter than its stated size", async () => {
    expect(await read(bytes.length - 10, bytes.length + 10)).toHaveLength(10);
  });

  it("returns nothing for an unknown file, and accepts no path as a digest", async () => {
    expect(await storage.read("0".repeat(64), 0, 1)).toBeNull();
    await expect(storage.read("../../etc/passwd", 0, 1)).rejects.toThrow("not the SHA-256 of a stored file");
  });
});
