import { existsSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { auditModules } from "./audit-modules.ts";

describe("modules that benches borrow from the audit service", () => {
  test.each(auditModules.map((name) => [name]))("are compiled: %s", (name) => {
    expect(existsSync(new URL(`../../../services/audit/src/${name}.ts`, import.meta.url))).toBe(true);
    // Excluded by tsconfig.package.json.
    expect(name).not.toMatch(/^testing\b|\.test$/);
  });
});
