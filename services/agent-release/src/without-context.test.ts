import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { tenantMigrations } from "@muster/service";
import { schemaProblems } from "@muster/testing";
import { migrations } from "./config.ts";

const dirs = [tenantMigrations, { label: "agent-release", path: fileURLToPath(migrations) }];

describe("the database", () => {
  it("shows nothing of any table, and lets nothing be changed, when nobody said who is calling", async () => {
    expect(await schemaProblems({ service: "agent-release", dirs }, "")).toEqual([]);
  });
});
