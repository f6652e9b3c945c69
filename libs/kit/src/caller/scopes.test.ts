import { readFile } from "node:fs/promises";
import { describe, expect, it } from "@jest/globals";
import { permissions } from "./permissions.ts";
import { isKeyScope, keyScopes, permissionsOfScope, scopePermissions, scopesOpen } from "./scopes.ts";

describe("the catalogue of scopes", () => {
  it("names permissions that exist", () => {
    expect(Object.values(scopePermissions).filter((permission) => !permissions.includes(permission))).toEqual([]);
  });

  it("is what the documentation shows", async () => {
    const text = await readFile(new URL("../../../../docs/api-keys.md", import.meta.url), "utf8");
    const rows = [...text.matchAll(/^\| `([^`]+)` \| (`[^|]+`) \|$/gm)].map(([, scope, needed = ""]) => [
      scope,
      needed.replaceAll("`", "").split(", "),
    ]);
    expect(rows).toEqual(keyScopes.map((scope) => [scope, permissionsOfScope(scope)]));
  });

  it("knows its own scopes and nothing that an object has by birth", () => {
    expect(keyScopes.every(isKeyScope)).toBe(true);
    expect(["toString", "__proto__", "", "*"].some(isKeyScope)).toBe(false);
  });
});

describe("the scope that writes evidence", () => {
  it.each<[string[], boolean]>([
    [["*"], false],
    [["audit:read", "audit:export"], false],
    [["audit:append"], true],
    [["*", "audit:append"], true],
  ])("is held by name alone: %j %s", (held, opens) => {
    expect(scopesOpen(held, ["audit:append"])).toBe(opens);
  });
});

describe("a route's scopes", () => {
  it.each<[string[], boolean]>([
    [["devices:read"], true],
    [["*"], true],
    [["logs:read", "audit:read"], true],
    [["devices:write"], false],
    [[], false],
  ])("are opened by %j: %s", (held, opens) => {
    expect(scopesOpen(held, ["devices:read", "logs:read"])).toBe(opens);
  });
});
