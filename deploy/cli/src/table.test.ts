import { describe, expect, it } from "@jest/globals";
import { cell, recordText, tableWriter } from "./table.ts";

describe("a cell", () => {
  it.each<[unknown, string]>([
    [null, "-"],
    [undefined, "-"],
    ["", "-"],
    [[], "-"],
    [0, "0"],
    [false, "false"],
    [["a", "b"], "a,b"],
    [{ id: "1", name: "Ada" }, "Ada"],
    [{ type: "api_key", id: "00000000-0000-0000-0000-000000000000", name: null }, "api_key"],
    [{ a: 1 }, '{"a":1}'],
    [{ status: "offline", orgId: "1" }, '{"status":"offline","orgId":"1"}'],
    [{ email: "email", name: "display_name" }, '{"email":"email","name":"display_name"}'],
    [{ status: "slow", reason: "A row waits." }, "slow"],
    ["two\nlines\tand a tab", "two lines and a tab"],
    ["\u001b[2Jcleared\u0007", "\\u{1b}[2Jcleared\\u{7}"],
    ["\u202Eevil", "\\u{202e}evil"],
    ["a\u200db", "a\\u{200d}b"],
    ["👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"],
    ["🏳️\u200d🌈", "🏳️\u200d🌈"],
    ["می\u200cخواهم", "می\u200cخواهم"],
    ["\u200eשלום\u200e", "\u200eשלום\u200e"],
  ])("for %j is %j", (value, text) => {
    expect(cell(value)).toBe(text);
  });
});

describe("a table", () => {
  it("has a heading once, and the widths of its first rows", () => {
    const write = tableWriter(["id", "name"]);
    expect(
      write([
        { id: "1", name: "Berlin" },
        { id: "200", name: null },
      ]),
    ).toBe("ID   NAME\n1    Berlin\n200  -\n");
    expect(write([{ id: "3", name: "Rome" }])).toBe("3    Rome\n");
  });

  it("cuts a long text, but not in the last column", () => {
    const row = { name: "x".repeat(200), message: "y".repeat(200) };
    expect(tableWriter(["name", "message"])([row]).split("\n")[1]).toBe(`${"x".repeat(79)}…  ${"y".repeat(200)}`);
  });
});

it("a record's health is shown with its reason, and a list's without", () => {
  const health = { status: "failing", reason: "5 attempts in a row failed.", breaker: "closed" };
  expect(recordText({ id: "1", health })).toBe("id      1\nhealth  failing: 5 attempts in a row failed.\n");
  expect(tableWriter(["health"])([{ health }])).toBe("HEALTH\nfailing\n");
});

it("a reason without a status is shown with all that stands beside it", () => {
  const enforcement = { inForce: false, reason: "not_wanted" };
  expect(recordText({ enforcement })).toBe('enforcement  {"inForce":false,"reason":"not_wanted"}\n');
});

it("a record is shown a field a line, in whole", () => {
  expect(recordText({ id: "1", hostname: "y".repeat(100) })).toBe(`id        1\nhostname  ${"y".repeat(100)}\n`);
});
