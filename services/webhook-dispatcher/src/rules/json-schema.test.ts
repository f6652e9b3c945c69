import { describe, expect, it } from "@jest/globals";
import { compileSchema, dialect, limits, SchemaTooSlow } from "./json-schema.ts";

const compiled = (schema: object) => compileSchema(JSON.stringify(schema));
const nested = (levels: number): object => (levels === 0 ? {} : { not: nested(levels - 1) });
/** A schema of few bytes whose validation takes 2^n steps. */
const doubling = (n: number) => {
  const defs = Array.from({ length: n }, (_, at) => {
    const next = { $ref: `#/$defs/d${at + 1}` };
    return [`d${at}`, { allOf: [next, next] }];
  });
  return { $defs: { ...Object.fromEntries(defs), [`d${n}`]: { type: "object" } }, $ref: "#/$defs/d0" };
};

describe("a JSON Schema", () => {
  it("says where a value is wrong, and why", () => {
    const validate = compiled({
      $schema: dialect,
      type: "object",
      required: ["id"],
      properties: { id: { type: "string" }, lines: { prefixItems: [{ type: "integer" }] } },
      unevaluatedProperties: false,
    });
    expect(validate({ id: "1", lines: [1] })).toBeNull();
    expect(validate({})).toEqual({ path: "id", message: "Required" });
    expect(validate({ id: 1 })).toEqual({ path: "id", message: "must be string" });
    expect(validate({ id: "1", lines: ["x"] })).toEqual({ path: "lines.0", message: "must be integer" });
    expect(validate({ id: "1", more: 1 })?.path).toBe("more");
  });

  it.each<[string, object, string]>([
    ["a type that is none", { type: "nothing" }, "/type"],
    ["another dialect", { $schema: "http://json-schema.org/draft-07/schema#" }, "$schema must be"],
    ["a schema elsewhere", { $ref: "https://example.com/schema.json" }, "can't resolve reference"],
    ["a pattern that is none", { properties: { a: { pattern: "(" } } }, "Invalid regular expression"],
    ["replies that come later", { allOf: [{ $async: true }] }, "$async is not supported"],
    ["too many levels", nested(limits.levels), `At most ${limits.levels} levels`],
    ["too many bytes", { description: "x".repeat(limits.bytes) }, `At most ${limits.bytes} bytes`],
  ])("is refused with %s", (_, schema, message) => {
    expect(() => compiled(schema)).toThrow(message);
  });

  it.each<[string, object, object]>([
    ["a pattern that backtracks", { properties: { a: { pattern: "^(a+)+$" } } }, { a: `${"a".repeat(60)}!` }],
    ["references that double", doubling(28), {}],
  ])("ends in time with %s", (_, schema, value) => {
    const validate = compiled(schema);
    const startedMs = performance.now();
    expect(() => validate(value)).toThrow(SchemaTooSlow);
    expect(performance.now() - startedMs).toBeLessThan(10 * limits.validateMs);
  });

  it("ends in time when it refers to itself for ever", () => {
    expect(() => compiled({ $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } })({})).toThrow();
  });

  it("leaves formats as annotations, and other schemas alone", () => {
    expect(
      compiled({ $id: "https://a.example/s", properties: { at: { format: "date" } } })({ at: "never" }),
    ).toBeNull();
    expect(compiled({ $id: "https://a.example/s", required: ["b"] })({})).toEqual({ path: "b", message: "Required" });
  });
});
