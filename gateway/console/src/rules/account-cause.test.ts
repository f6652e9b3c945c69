import { describe, expect, it } from "@jest/globals";
import { accountCause } from "./account-cause.ts";

const row = (action: string, id: number, result: "success" | "denied" = "success") => ({ action, id, result });
const rows = [
  row("user.update", 9),
  row("user.disable", 8, "denied"),
  row("user.enable", 7),
  row("user.disable", 6),
  row("user.invite", 5),
  row("user.create", 4),
];

describe("why an account is as it is", () => {
  it.each([
    ["disabled", { id: 6, did: "Disabled" }],
    ["active", { id: 7, did: "Enabled again" }],
    ["invited", { id: 5, did: "Invited" }],
    ["of another state", null],
  ])("an account that is %s is so by the newest row that did it", (status, expected) => {
    const cause = accountCause(status, rows);
    expect(cause && { id: cause.row.id, did: cause.did }).toEqual(expected);
  });

  it("is not known without such a row", () => {
    expect(accountCause("active", rows.slice(3))).toBeNull();
  });
});
