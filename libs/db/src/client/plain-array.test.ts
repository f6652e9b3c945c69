import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { createLogger } from "@muster/kit";
import { type TestDatabase, testDatabase } from "../testing/test-database.ts";
import { type Database, openDatabase } from "./database.ts";
import { plainArray } from "./plain-array.ts";
import { sql } from "./statement.ts";

let test: TestDatabase;
let db: Database;

beforeAll(async () => {
  test = await testDatabase({ service: "tenancy", dirs: [] });
  db = openDatabase({ url: test.appUrl, max: 1, name: "tenancy", log: createLogger("test", "silent") });
});
afterAll(async () => {
  await db.close();
  await test.drop();
});

it("arrives as the same values, null and the empty array too", async () => {
  const id = "0b5f2a5e-56a1-4f3e-9a55-0c4be0f4f6a1";
  const at = new Date("2026-02-28T23:59:59.987Z");
  const [row] = await db.read<Record<string, unknown>>(
    { caller: null },
    sql`SELECT ${plainArray([id, null])}::uuid[] AS ids, ${plainArray([1, -2, null])}::smallint[] AS numbers,
               ${plainArray([true, false])}::boolean[] AS flags, ${plainArray([at, null])}::timestamptz[] AS times,
               ${plainArray([])}::uuid[] AS none`,
  );
  expect(row).toEqual({ ids: [id, null], numbers: [1, -2, null], flags: [true, false], times: [at, null], none: [] });
});

it("refuses text that would be read as something else", () => {
  for (const text of ["a,b", "}", '"', "a b", "", "\\"]) expect(() => plainArray([text])).toThrow(TypeError);
});
