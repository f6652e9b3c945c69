import { describe, expect, it } from "@jest/globals";
import { readEvent, readLiveEvents, readLog, readLogs } from "./live-reply.ts";

const log = {
  name: "System",
  displayName: "System",
  recordCount: 0,
  maxSize: 0,
  retentionDays: 0,
  lastWriteTime: "2026-01-31T12:00:00Z",
};
const event = {
  recordId: 1,
  timeCreated: "2026-01-31T12:00:00Z",
  level: "error",
  source: "disk",
  eventId: 7,
  message: "",
  category: "",
  computer: "web-01",
};
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));
const long = (length: number) => "x".repeat(length);
const many = (count: number, of: object) => Array.from({ length: count }, () => of);

describe("an answer of a device", () => {
  it.each([
    ["no log", { logs: [] }],
    ["as many logs as fit", { logs: many(5_000, log) }],
    [
      "texts as long as may be",
      { logs: [{ ...log, name: long(512), displayName: long(512), lastWriteTime: long(64) }] },
    ],
  ])("is a list with %s", (_what, answer) => {
    expect(readLogs(bytes(answer))).toEqual(answer.logs);
  });

  it.each([
    ["no list", {}],
    ["too many logs", { logs: many(5_001, log) }],
    ["a log without a name", { logs: [{ ...log, name: "" }] }],
    ["a long name", { logs: [{ ...log, name: long(513) }] }],
    ["a long time", { logs: [{ ...log, lastWriteTime: long(65) }] }],
    ["a count below zero", { logs: [{ ...log, recordCount: -1 }] }],
    ["half a record", { logs: [{ ...log, maxSize: 0.5 }] }],
  ])("with %s is an error of the device", (_what, answer) => {
    expect(() => readLogs(bytes(answer))).toThrow(expect.objectContaining({ code: "device_error" }));
  });

  it("is one log", () => {
    expect(readLog(bytes({ log }))).toEqual(log);
    expect(() => readLog(Buffer.from([0x22, 0xff, 0x22]))).toThrow(expect.objectContaining({ code: "device_error" }));
  });

  const largest = { ...event, timeCreated: long(64), source: long(512), category: long(512), user: long(512) };
  it("is events with texts as long as may be, with or without a user", () => {
    const events = [largest, { ...event, user: null, rawXml: null }];
    expect(readLiveEvents(bytes({ events, total: 2 }))).toEqual({ events, total: 2 });
    expect(readEvent(bytes({ event }))).toEqual(event);
    expect(readLiveEvents(bytes({ events: many(100, event), total: 100 })).events).toHaveLength(100);
  });

  it.each([
    ["a time", { timeCreated: long(65) }],
    ["a source", { source: long(513) }],
    ["a category", { category: long(513) }],
    ["a user", { user: long(513) }],
    ["a computer", { computer: long(513) }],
    ["a message", { message: long(1_048_577) }],
    ["a level", { level: "fatal" }],
    ["an id", { eventId: -1 }],
  ])("with an event whose field is out of bounds, %s, is an error of the device", (_what, change) => {
    expect(() => readEvent(bytes({ event: { ...event, ...change } }))).toThrow(
      expect.objectContaining({ code: "device_error" }),
    );
  });
});
