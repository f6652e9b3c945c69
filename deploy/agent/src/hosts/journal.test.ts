import { describe, expect, it } from "@jest/globals";
import { eventOf, parseEntry } from "./journal.ts";

const cursor = "s=1abf6ff095ff459392a9dc9f5743a8b8;i=15c;b=2072af45;m=32671095a;t=66131b573ab0c;x=4063def969d02dab";
const entry = (change: object) => ({
  __CURSOR: cursor,
  __REALTIME_TIMESTAMP: "1795715985812236",
  MESSAGE: "hello",
  PRIORITY: "4",
  SYSLOG_IDENTIFIER: "disk",
  _SYSTEMD_UNIT: "disk.service",
  _PID: "42",
  ...change,
});

describe("an entry of the journal", () => {
  it("is an event of the platform, with a number of its own", () => {
    expect(eventOf(entry({}))).toEqual({
      timestamp: "2026-11-26T17:59:45.812Z",
      level: "warning",
      category: "system",
      source: "disk",
      eventId: expect.stringMatching(/^[0-9a-f]{32}$/),
      message: "hello",
      details: { unit: "disk.service", pid: "42" },
    });
    expect(eventOf(entry({ __CURSOR: "s=other" }))?.eventId).not.toBe(eventOf(entry({}))?.eventId);
  });

  it.each([
    ["0", "critical"],
    ["2", "critical"],
    ["3", "error"],
    ["4", "warning"],
    ["7", "info"],
    ["99", "info"],
    ["", "info"],
  ])("has level of priority %j: %s", (priority, level) => {
    expect(eventOf(entry({ PRIORITY: priority }))?.level).toBe(level);
  });

  it.each<[string, unknown, string]>([
    ["bytes that are no UTF-8", [104, 105, 255, 0], "hi\uFFFD\uFFFD"],
    ["no text, since it is too long for journalctl", null, "(empty)"],
    ["several texts", ["first", "second"], "first"],
    ["NUL and half a surrogate", "a\0b\uD800", "a\uFFFDb\uFFFD"],
    ["more than the platform stores", "x".repeat(70_000), `${"x".repeat(65_535)}…`],
  ])("with %s is storable", (_name, message, expected) => {
    expect(eventOf(entry({ MESSAGE: message }))?.message).toBe(expected);
  });

  it("is no event when it is of the agent itself: it would follow from each post", () => {
    expect(eventOf(entry({ _SYSTEMD_UNIT: "muster-agent.service" }))).toBeNull();
    expect(eventOf(entry({ SYSLOG_IDENTIFIER: "muster-agent" }))).toBeNull();
  });

  it("is none when the line is cut or no object", () => {
    for (const line of ['{"MESSAGE":"hel', "null", "", "[1"]) expect(parseEntry(line)).toBeNull();
  });
});
