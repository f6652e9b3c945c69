import { expect, it } from "@jest/globals";
import { seededRoles } from "../../../../services/identity/src/rules/catalogue.ts";
import { roleName } from "./role-name.ts";

it("a seeded role has its name, any other is its own", () => {
  for (const { key, name } of seededRoles) expect(roleName(key)).toBe(name);
  expect(roleName("Help desk")).toBe("Help desk");
  expect(seededRoles.length).toBeGreaterThan(0);
});
