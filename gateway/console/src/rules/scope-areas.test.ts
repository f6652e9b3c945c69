import { describe, expect, it } from "@jest/globals";
import { permissionAreas, scopeAreas, scopeVerb } from "./scope-areas.ts";

describe("scopes by their areas", () => {
  it("have what reads beside what changes something, wherever they stand", () => {
    const areas = scopeAreas(["devices:read", "logs:read", "devices:write", "events:write"]);
    expect(areas.map(({ title, read, others }) => [title, read, others])).toEqual([
      ["Devices", "devices:read", ["devices:write"]],
      ["Logs", "logs:read", []],
      ["Events", null, ["events:write"]],
    ]);
  });

  it.each([
    ["devices:read", "Read"],
    ["audit:append", "Append"],
  ])("are called by what they allow: %s is %s", (scope, verb) => {
    expect(scopeVerb(scope)).toBe(verb);
  });
});

it("permissions are words by their areas", () => {
  expect(permissionAreas(["devices:read", "device_groups:read", "devices:write"])).toEqual([
    { area: "Devices", verbs: ["read", "write"] },
    { area: "Device groups", verbs: ["read"] },
  ]);
});
