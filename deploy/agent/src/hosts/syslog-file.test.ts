import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { eventOfLine, syslogFileSource } from "./syslog-file.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "muster-syslog-"));
  path = join(folder, "syslog");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const now = new Date("2026-01-05T00:00:00Z");
const eventOf = (line: string) => eventOfLine(line, "syslog", "1", now);

describe("a line of syslog", () => {
  it.each([
    [
      "Jan  4 10:00:00 host sshd[42]: Failed password for root",
      "sshd",
      "error",
      "security",
      "Failed password for root",
    ],
    [
      "2026-01-04T10:00:00.5+01:00 host kernel: usb 1-1: new device",
      "kernel",
      "info",
      "hardware",
      "usb 1-1: new device",
    ],
    ["<34>Jan  4 10:00:00 host su: authentication warning", "su", "warning", "security", "authentication warning"],
    ["no form at all", "syslog", "info", "system", "no form at all"],
    ["", "syslog", "info", "system", "(empty)"],
  ])("%j is an event", (line, source, level, category, message) => {
    expect(eventOf(line)).toMatchObject({ source, level, category, message });
  });

  it("without a year is one of the last twelve months", () => {
    expect(eventOf("Dec 31 10:00:00 host a: b").timestamp).toMatch(/^2025-12-31/);
    expect(eventOf("Jan  4 10:00:00 host a: b").timestamp).toMatch(/^2026-01-04/);
  });
});

describe("a file of syslog", () => {
  it("is followed over its rotation, and from a stored position", async () => {
    writeFileSync(path, "before\n");
    const read: string[] = [];
    let cursor = "";
    const follow = (from: string | null) => {
      const ending = new AbortController();
      const ended = syslogFileSource(path, "host").follow(
        from,
        async (reading) => {
          read.push(...reading.events.map(({ message }) => message));
          cursor = reading.cursor;
        },
        ending.signal,
      );
      return async () => {
        ending.abort();
        await ended;
      };
    };
    let stop = follow(null);
    await until("the end of the file to be noted", () => new Promise((resolve) => setTimeout(() => resolve(true), 50)));
    appendFileSync(path, "one\nhalf");
    await until("the whole line", () => read.includes("one"));
    appendFileSync(path, " a line\nlate\n");
    renameSync(path, `${path}.1`);
    writeFileSync(path, "two\n");
    await until("the line after the rotation", () => read.includes("two"));
    await stop();
    appendFileSync(path, "three\n");
    stop = follow(cursor);
    await until("the line of the time between", () => read.includes("three"));
    await stop();
    expect(read).toEqual(["one", "half a line", "late", "two", "three"]);
  });

  it.each(["../../etc/passwd", "/etc/passwd", "", "syslog/../../passwd"])("has no log of the name %j", async (name) => {
    writeFileSync(path, "Nov 26 18:00:01 host app: one\n");
    const { store } = syslogFileSource(path, "host");
    const filter = { page: 1, limit: 10 };
    expect([await store?.log(name), await store?.events(name, filter), await store?.event(name, 0)]).toEqual([
      null,
      null,
      null,
    ]);
    expect((await store?.events("syslog", filter))?.total).toBe(1);
  });
});
