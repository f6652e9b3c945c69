import { appendFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { openSpool } from "./spool.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "muster-spool-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const mebibyte = 1024 * 1024;

describe("a spool", () => {
  it("returns lines in order, again after a restart, until they are done", () => {
    const spool = openSpool(folder, 8 * mebibyte);
    spool.append(["1", "2", "3"]);
    expect(spool.next(2, mebibyte)?.lines).toEqual(["1", "2"]);
    spool.next(2, mebibyte)?.done();
    spool.append(["4"]);
    const again = openSpool(folder, 8 * mebibyte);
    const batch = again.next(10, mebibyte);
    expect(batch?.lines).toEqual(["3", "4"]);
    batch?.done(1);
    expect(openSpool(folder, 8 * mebibyte).next(10, mebibyte)?.lines).toEqual(["4"]);
  });

  it("loses the half line of a crash and nothing else", () => {
    openSpool(folder, 8 * mebibyte).append(["1"]);
    const [file = ""] = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
    appendFileSync(join(folder, file), "half");
    const spool = openSpool(folder, 8 * mebibyte);
    spool.append(["2"]);
    spool.next(1, mebibyte)?.done();
    expect(spool.next(10, mebibyte)?.lines).toEqual(["2"]);
  });

  it("drops its oldest file when it is full, counts the lines, and ignores a batch that was dropped", () => {
    const spool = openSpool(folder, 6 * mebibyte);
    const line = "x".repeat(mebibyte / 2);
    spool.append(["first"]);
    const batch = spool.next(1, mebibyte);
    for (let n = 0; n < 16; n++) spool.append([line]);
    expect(spool.bytes).toBeLessThanOrEqual(6 * mebibyte);
    const dropped = spool.takeDropped();
    expect(dropped).toBeGreaterThan(3);
    batch?.done();
    let left = 0;
    for (let next = spool.next(1, mebibyte); next; next = spool.next(1, mebibyte), left++) next.done();
    expect(left + dropped).toBe(17);
    expect([spool.bytes, spool.takeDropped()]).toEqual([0, 0]);
  });
});
