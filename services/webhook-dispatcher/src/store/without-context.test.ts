import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { tenantMigrations } from "@muster/service";
import { schemaProblems } from "@muster/testing";
import { migrations } from "../config.ts";
import { oneRowOfEach } from "../testing/rows.ts";

const dirs = [tenantMigrations, { label: "webhook-dispatcher", path: fileURLToPath(migrations) }];
const id = "00000000-0000-7000-8000-000000000001";

describe("the database", () => {
  it("returns no row of any table, and permits no change, without a caller", async () => {
    expect(
      await schemaProblems({ service: "webhook-dispatcher", dirs }, oneRowOfEach({ id, orgId: id, partnerId: id })),
    ).toEqual([]);
  });
});
