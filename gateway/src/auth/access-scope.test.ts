import { describe, expect, it } from "@jest/globals";
import type { Caller } from "@muster/kit";
import { callers } from "@muster/testing";
import { inAccessScope } from "./access-scope.ts";

const there = { partnerId: "p", orgId: "o", siteId: "s" };

describe("a device of a site is in the access scope", () => {
  it.each<[string, Caller, boolean]>([
    ["of a platform administrator", callers.platformAdmin(), true],
    ["of its partner's users", callers.partnerAdmin("p"), true],
    ["of no other partner's", callers.partnerAdmin("q"), false],
    ["of users with its organization among theirs", callers.partnerWithList("p", ["n", "o"]), true],
    ["of none without", callers.partnerWithList("p", ["n"]), false],
    ["of none with an empty list", callers.partnerWithList("p", []), false],
    ["of its organization's users", callers.orgAdmin("p", "o"), true],
    ["of no other organization's", callers.orgAdmin("p", "n"), false],
    ["of users limited to its site", callers.orgAdmin("p", "o", { siteIds: ["r", "s"] }), true],
    ["of none limited to another", callers.orgAdmin("p", "o", { siteIds: ["r"] }), false],
    ["of none limited to no site at all", callers.orgAdmin("p", "o", { siteIds: [] }), false],
  ])("%s", (_who, caller, expected) => {
    expect(inAccessScope(caller, there)).toBe(expected);
  });

  it("a device without a site is in the access scope only of callers not limited to sites", () => {
    const nowhere = { ...there, siteId: null };
    expect(inAccessScope(callers.orgAdmin("p", "o"), nowhere)).toBe(true);
    expect(inAccessScope(callers.orgAdmin("p", "o", { siteIds: ["s"] }), nowhere)).toBe(false);
  });
});
