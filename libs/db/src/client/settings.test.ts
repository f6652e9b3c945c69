import { describe, expect, it } from "@jest/globals";
import { type Caller, systemCaller, uuidv7 } from "@muster/kit";
import { remainingMs, settingsQuery } from "./settings.ts";

const partner: Caller = { ...systemCaller("x"), scope: "partner", partnerId: uuidv7() };

describe("settings of a transaction", () => {
  it("are all written, empty without a caller", () => {
    const { text, values } = settingsQuery({ caller: null }, 10_000);
    expect(text.match(/set_config\('[a-z_.]+', \$\d, true\)/g)).toHaveLength(9);
    expect(values).toEqual(["", "", "", "", "", "", "", "10000", "30000"]);
  });

  it("distinguish an empty list of organizations from no list, and restricted sites from unrestricted", () => {
    const none = settingsQuery({ caller: { ...partner, orgAccess: { mode: "list", orgIds: [] }, siteIds: [] } }, 1);
    expect(none.values.slice(3, 6)).toEqual(["list", "{}", "{}"]);
    const all = settingsQuery({ caller: partner }, 1);
    expect(all.values.slice(3, 6)).toEqual(["all", "", ""]);
  });

  it("list the organizations as a PostgreSQL array", () => {
    const orgIds = [uuidv7(), uuidv7()];
    const { values } = settingsQuery({ caller: { ...partner, orgAccess: { mode: "list", orgIds } } }, 1);
    expect(values[4]).toBe(`{${orgIds.join(",")}}`);
  });

  it.each([
    ["partnerId", { partnerId: "x" }],
    ["orgId", { orgId: "}" }],
    ["an organization of the list", { orgAccess: { mode: "list", orgIds: ["a,b"] } }],
    ["a site", { siteIds: [""] }],
  ] as [string, Partial<Caller>][])("are refused when %s is no UUID", (_, change) => {
    expect(() => settingsQuery({ caller: { ...partner, ...change } }, 1)).toThrow(TypeError);
  });

  it("take the time that is left to the deadline, 10 s without one", () => {
    expect(remainingMs({ caller: null }, 100)).toBe(10_000);
    expect(remainingMs({ caller: null, deadlineMs: 350 }, 100)).toBe(250);
    expect(settingsQuery({ caller: null }, 0.2).values[7]).toBe("1");
  });
});
