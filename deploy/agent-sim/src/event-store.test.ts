import { describe, expect, it } from "@jest/globals";
import { syntheticEventStore } from "./event-store.ts";

const store = syntheticEventStore({ os: "windows", hostname: "WS-1", records: 100 });
const powershell = "Microsoft-Windows-PowerShell/Operational";

describe("the synthetic event store", () => {
  it("finds logs by name, whatever its case, and reports how much they hold", () => {
    expect(store.log(powershell.toUpperCase())).toMatchObject({ name: powershell, recordCount: 100 });
    expect(store.log("Nope")).toBeNull();
    expect(store.logs().map(({ name }) => name)).toContain("Security");
  });

  it("pages newest first and counts all that match", () => {
    const first = store.events("system", { page: 1, limit: 30 });
    expect([first?.total, first?.events.length, first?.events[0]?.recordId]).toEqual([100, 30, 100]);
    expect(store.events("System", { page: 4, limit: 30 })?.events.map(({ recordId }) => recordId)).toEqual([
      10, 9, 8, 7, 6, 5, 4, 3, 2, 1,
    ]);
    expect(store.events("Nope", { page: 1, limit: 1 })).toBeNull();
  });

  it("filters by level, source, event id and time", () => {
    const total = (filter: object) => store.events("System", { page: 1, limit: 100, ...filter })?.total;
    expect(total({ level: "critical" })).toBe(25);
    expect(total({ source: "disk", eventId: 51 })).toBe(25);
    expect(total({ source: "disk", eventId: 52 })).toBe(0);
    const newest = store.events("System", { page: 1, limit: 1 })?.events[0]?.timeCreated ?? "";
    expect(total({ startTime: new Date(Date.parse(newest) - 9 * 60_000).toISOString(), endTime: newest })).toBe(10);
  });

  it("knows single records, with their XML on Windows alone", () => {
    expect(store.event("System", 7)).toMatchObject({
      recordId: 7,
      rawXml: expect.stringContaining("<EventRecordID>7<"),
    });
    expect(store.event("System", 101)).toBeUndefined();
    expect(store.event("Nope", 1)).toBeNull();
    expect(syntheticEventStore({ os: "linux", hostname: "h" }).event("syslog", 1)).not.toHaveProperty("rawXml");
  });
});
