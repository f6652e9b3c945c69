import { describe, expect, it } from "@jest/globals";
import { factColumns } from "../testing/fact-columns.ts";
import { type AnnouncedFacts, announcementOf, type FactColumns, factsAfter, factsOfRow } from "./reported-facts.ts";

const row: FactColumns = factColumns;
const nothing = {
  hostname: null,
  os: null,
  arch: null,
  libc: null,
  agentVersion: null,
  watchdogVersion: null,
  helperVersion: null,
};
const facts = factsOfRow(row);
const at = (minutes: number) => new Date(Date.UTC(2026, 0, 1, 0, minutes));

describe("facts after a heartbeat", () => {
  it("are those that it reports, and the others stay", () => {
    expect(factsAfter(row, { ...nothing, os: "windows", helperVersion: "2.0.0" })).toEqual({
      ...facts,
      os: "windows",
      helperVersion: "2.0.0",
    });
  });

  it("keep a name that people gave until the machine is renamed", () => {
    const renamed = { ...row, hostname: "Reception" };
    expect(factsAfter(renamed, { ...nothing, hostname: "web-1" }).hostname).toBe("Reception");
    expect(factsAfter(renamed, { ...nothing, hostname: "web-2" }).hostname).toBe("web-2");
  });
});

describe("the announcement of a fact", () => {
  const changes = (values: [minutes: number, os: string][]) => {
    let [before, announced]: [typeof facts, AnnouncedFacts | null] = [facts, null];
    return values.map(([minutes, os]) => {
      const after = { ...before, os };
      const result = announcementOf(before, after, announced, at(minutes));
      [before, announced] = [after, result.announced];
      return result.after.os === undefined ? null : `${result.before.os} to ${result.after.os}`;
    });
  };

  it.each<[string, [number, string][], (string | null)[]]>([
    ["comes with its change", [[0, "windows"]], ["linux to windows"]],
    [
      "comes once",
      [
        [0, "windows"],
        [1, "windows"],
      ],
      ["linux to windows", null],
    ],
    [
      "waits for the end of the hour",
      [
        [0, "windows"],
        [59, "darwin"],
        [60, "darwin"],
      ],
      ["linux to windows", null, "windows to darwin"],
    ],
    [
      "is left out when the fact has changed back",
      [
        [0, "windows"],
        [5, "linux"],
        [9, "windows"],
        [60, "windows"],
      ],
      ["linux to windows", null, null, null],
    ],
    [
      "is at once after a quiet hour",
      [
        [0, "windows"],
        [60, "windows"],
        [61, "linux"],
      ],
      ["linux to windows", null, "windows to linux"],
    ],
  ])("%s", (_what, values, expected) => {
    expect(changes(values)).toEqual(expected);
  });

  it("holds for its hour alone", () => {
    const after = { ...facts, os: "windows" };
    const { announced } = announcementOf(facts, after, null, at(0));
    expect(announced).toEqual({ os: { value: "windows", at: at(0).toISOString() } });
    expect(announcementOf(after, after, announced, at(59)).announced).toEqual(announced);
    expect(announcementOf(after, after, announced, at(60)).announced).toEqual({});
  });
});
