import { describe, expect, it } from "@jest/globals";
import { filtersOfShown, foldedBeside, foldedRows, machineActions, rowChoices, shownRows } from "./machine-actions.ts";

describe("the rows that the audit trail shows", () => {
  it.each(Object.keys(rowChoices))("%s are the filters that they became", (choice) => {
    expect(shownRows(filtersOfShown(choice))).toBe(choice);
  });

  it("are changes alone until something else is chosen", () => {
    expect(shownRows({})).toBe("changes");
  });
});

describe("what is folded beside a row", () => {
  const excluded = (action: string, targets: { type: string }[] = []) => foldedBeside({ action, targets });

  it("is what the audit trail folds, for a change", () => {
    expect(excluded("site.update", [{ type: "device" }])).toEqual(foldedRows);
  });

  it.each([
    ["user.login", ["user.login", "user.logout"]],
    ["user.login.failed", ["user.login", "user.logout"]],
    ["agent.logs.submit", ["agent.logs.submit"]],
  ])("leaves out nothing of its own kind: %s", (action, shown) => {
    const folded = excluded(action).excludeActions.split(",");
    expect(machineActions.filter((each) => !folded.includes(each))).toEqual(shown);
  });

  it("leaves in the devices of a bulk job beside one of them", () => {
    expect(excluded("device.update", [{ type: "device_bulk_job" }])).not.toHaveProperty("excludeTargetTypes");
  });
});
