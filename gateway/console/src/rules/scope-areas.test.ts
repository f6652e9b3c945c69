import { describe, expect, it } from "@jest/globals";
import { permissionVerbs, scopeAreas, scopeVerb } from "./scope-areas.ts";

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

it("permissions that allow the same in several areas are one line", () => {
  const permissions = [
    "devices:read",
    "device_groups:read",
    "devices:write",
    "audit:read",
    "webhooks:read",
    "webhooks:write",
  ];
  expect(permissionVerbs(permissions)).toEqual([
    { verbs: "Read, write", areas: "devices, webhooks" },
    { verbs: "Read", areas: "device groups, audit" },
  ]);
});
