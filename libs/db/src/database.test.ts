import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { testDatabase, type TestDatabase } from "./testing/test-database.ts";
import { sql } from "./statement.ts";

describe("tx", () => {
  let test: TestDatabase;
  beforeAll(async () => {
    const t = performance.now();
    test = await testDatabase({ service: "tenancy", dirs: [] });
    console.log("created in", performance.now() - t);
    const u = performance.now();
    const x = await testDatabase({ service: "tenancy", dirs: [] });
    console.log("second in", performance.now() - u);
    await x.drop();
  });
  afterAll(() => test.drop());
  it("works", async () => {
    expect(await test.db.read({ caller: null }, sql`select 1::bigint as a, ${"x"}::text as b, current_user`)).toEqual([{ a: 1, b: "x", current_user: "muster_tenancy_app" }]);
  });
});
