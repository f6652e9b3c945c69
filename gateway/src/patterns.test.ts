import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { openApiDocument } from "./openapi/document.ts";
import { routes } from "./routes/index.ts";
import { type FoundPattern, patternsBelow, slowTextFor } from "./testing/slow-patterns.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What the schemas of the rows check by a pattern, those of the validator's own formats included. */
function documentedPatterns(): FoundPattern[] {
  const found: FoundPattern[] = [];
  const collect = (node: unknown, where: string): void => {
    if (typeof node !== "object" || node === null) return;
    for (const [key, value] of Object.entries(node)) {
      if (key === "pattern" && typeof value === "string") found.push({ where, source: value, flags: "u" });
      else collect(value, `${where}/${key}`);
    }
  };
  collect(openApiDocument(routes, { version: "1" }), "openapi");
  return found;
}

const patterns = [
  ...patternsBelow(root, "gateway/src"),
  ...patternsBelow(root, "libs"),
  ...patternsBelow(root, "services"),
  ...documentedPatterns(),
];
const bySource = new Map(patterns.map((pattern) => [`/${pattern.source}/${pattern.flags}`, pattern]));

describe("regular expressions", () => {
  it("in the product and in its schemas are found", () => {
    expect(patterns.length).toBeGreaterThan(60);
  });

  it("are detected as slow when they backtrack", () => {
    expect(slowTextFor({ source: "^json\\s*(?:;\\s*)?;?\\s*$", flags: "i" })).not.toBeNull();
    expect(slowTextFor({ source: "%.*$", flags: "" })).not.toBeNull();
    expect(slowTextFor({ source: "^(?:a+)+$", flags: "" })).not.toBeNull();
  });

  it.each([...bySource])("match 16 KiB of each character they repeat in linear time: %s", (_text, pattern) => {
    const slow = slowTextFor(pattern);
    expect(slow === null ? null : { where: pattern.where, begins: slow.slice(0, 60), ends: slow.slice(-3) }).toBeNull();
  });
});
