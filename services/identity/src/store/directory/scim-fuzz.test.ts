import { describe, expect, it } from "@jest/globals";
import { AppError } from "@muster/kit";
import { processorUnits } from "@muster/testing";
import fc from "fast-check";
import { readDocument, userResource } from "../../rules/scim/document.ts";
import { filterMax, parseFilter, parsePatchPath } from "../../rules/scim/filter.ts";
import { changeGroup } from "../../rules/scim/group-patch.ts";
import { applyPatch, readOperations } from "../../rules/scim/patch.ts";
import { filterCondition } from "./scim-filter.ts";

const scimTypes = [
  "invalidFilter",
  "invalidPath",
  "invalidSyntax",
  "invalidValue",
  "noTarget",
  "mutability",
  "tooMany",
];

/** Whatever is wrong is refused as SCIM says; anything else would be a 500. */
function holds(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch (error) {
    return (
      error instanceof AppError && error.code === "scim_invalid" && scimTypes.includes(String(error.facts.scimType))
    );
  }
}

const word = fc.constantFrom(
  ..."userName externalId emails emails.value name.givenName active meta.created members groups id not and or pr eq co".split(
    " ",
  ),
  ...'[ ] ( ) . , : " \\ true false null 1 -1.5e3 1e999 \u0000 \ud800 __proto__ constructor'.split(" "),
  "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager",
  "urn:ietf:params:scim:schemas:core:2.0:User",
  '"work"',
  '"2024-01-01T00:00:00Z"',
  '"a\\"b\\\\"',
);
const text = fc.oneof(
  fc.array(word, { maxLength: 30 }).map((words) => words.join(" ")),
  fc.array(word, { maxLength: 12 }).map((words) => words.join("")),
  fc.string({ unit: "binary", maxLength: 60 }),
);
const value: fc.Arbitrary<unknown> = fc.oneof(fc.jsonValue({ maxDepth: 3 }), word);
const operation = fc.record(
  { op: fc.oneof(fc.constantFrom("add", "Replace", "remove", "ADD"), value), path: fc.oneof(text, value), value },
  { requiredKeys: [] },
);
const document = readDocument(userResource, {
  userName: "ada",
  emails: [{ value: "a@b.example", type: "work", primary: true }],
  name: { givenName: "Ada" },
});
/** `SCIM_CASES` is their number in total, with a seed of its own in each run; without it they are few, and alike. */
const cases = Number(process.env.SCIM_CASES ?? 8_000);
const runs = { numRuns: Math.ceil(cases / 4), ...(process.env.SCIM_CASES === undefined ? { seed: 49 } : {}) };

describe("whatever a directory sends", () => {
  it("is a filter that is answered, or one that is refused", () => {
    fc.assert(
      fc.property(text, fc.constantFrom("User" as const, "Group" as const), (filter, kind) =>
        holds(() => filterCondition(kind, parseFilter(filter))),
      ),
      runs,
    );
  });

  it("is a path, or refused", () => {
    fc.assert(
      fc.property(text, (path) => holds(() => parsePatchPath(path))),
      runs,
    );
  });

  it("is a PATCH of a user that leaves a whole document, or refused", () => {
    const copy = JSON.stringify(document);
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 4 }), (Operations) =>
        holds(() => {
          const after = applyPatch(userResource, document, readOperations({ Operations }));
          expect(typeof after.userName).toBe("string");
        }),
      ),
      runs,
    );
    expect(JSON.stringify(document)).toBe(copy);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it("is a PATCH of a group, or refused", () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 4 }), (Operations) =>
        holds(() => changeGroup({ displayName: "G" }, readOperations({ Operations }))),
      ),
      runs,
    );
  });
});

describe("the longest text that is read", () => {
  it.each([
    ["parentheses", (n: number) => "(".repeat(n)],
    ["brackets", (n: number) => "a[".repeat(n / 2)],
    ["negations", (n: number) => "not (".repeat(n / 5)],
    ["spaces", (n: number) => `${" ".repeat(n - 1)}!`],
    ["escapes", (n: number) => `a eq "${"\\".repeat(n - 6)}`],
    ["an open text", (n: number) => `a eq "${"x".repeat(n - 6)}`],
    [
      "comparisons",
      (n: number) =>
        Array(Math.floor(n / 8))
          .fill("a pr")
          .join(" or "),
    ],
    ["digits", (n: number) => `a eq ${"1".repeat(n - 5)}`],
    ["a name", (n: number) => `urn:${"a:".repeat((n - 4) / 2)}`],
    ["dots", (n: number) => `a${".".repeat(n - 1)}`],
    ["nested values", (n: number) => "emails[type eq 1 and ".repeat(Math.floor(n / 21))],
    [
      "alternatives in brackets",
      (n: number) => `emails[${'type eq "w" or '.repeat(Math.floor((n - 20) / 15))}value pr]`,
    ],
  ])("takes milliseconds when it is %s", (_what, make) => {
    const units = processorUnits(() => {
      for (let at = 0; at < 20; at++) {
        expect(holds(() => parseFilter(make(filterMax)))).toBe(true);
        expect(holds(() => parsePatchPath(make(filterMax)))).toBe(true);
      }
    });
    // Quadratic time would be 8,192 times a linear pass.
    expect(units).toBeLessThan(30);
  });
});
