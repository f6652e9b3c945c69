import { describe, expect, it } from "@jest/globals";
import { accountAccess, choicesOf } from "./account-access.ts";

function form(fields: readonly (readonly [string, string])[]): FormData {
  const data = new FormData();
  for (const [name, value] of fields) data.append(name, value);
  return data;
}

describe("what an account reaches", () => {
  it.each([
    ["all of a partner", [["orgAccess", "all"]], { orgAccess: "all" }],
    [
      "the chosen organizations",
      [
        ["orgAccess", "selected"],
        ["orgIds", "a"],
        ["orgIds", "b"],
      ],
      { orgAccess: "selected", orgIds: ["a", "b"] },
    ],
    [
      "no organization, whatever was chosen before",
      [
        ["orgAccess", "none"],
        ["orgIds", "a"],
      ],
      { orgAccess: "none" },
    ],
    [
      "some sites",
      [
        ["siteAccess", "some"],
        ["siteIds", "s"],
      ],
      { siteIds: ["s"] },
    ],
    ["no site", [["siteAccess", "some"]], { siteIds: [] }],
    [
      "all sites, whatever was chosen before",
      [
        ["siteAccess", "all"],
        ["siteIds", "s"],
      ],
      { siteIds: null },
    ],
    ["unchanged by a form without choices", [["orgAccess", "unknown"]], {}],
  ] as const)("is %s", (_what, fields, expected) => {
    expect(accountAccess(form(fields))).toEqual(expected);
  });

  it("keeps what is chosen and not among the listed", () => {
    const names = new Map([["a", "Acme"]]);
    expect(choicesOf(names, ["a", "0123456789"])).toEqual([
      ["a", "Acme"],
      ["0123456789", "01234567"],
    ]);
  });
});
