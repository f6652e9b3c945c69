import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { systemCaller } from "@muster/kit";
import { type TestDatabase, testDatabase } from "@muster/testing";
import { arrayOf, plainArray, quoted } from "./array-text.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ service: "audit", dirs: [] });
});
afterAll(() => database?.drop());
const read = <R>(statement: ReturnType<typeof sql>) =>
  database.db.read<R>({ caller: systemCaller("audit") }, statement);

const textArray = (values: readonly (string | null)[]) =>
  arrayOf(
    values.map((value) => [quoted(value)]),
    0,
  );

describe("an array as text", () => {
  it("arrives unchanged, whatever the texts contain", async () => {
    const values = ["", "NULL", null, '"', "\\", '\\"}', "{a,b}", " a , b ", "\n\t", "ä€😀", "$1 $& $$", "'; --"];
    expect(await read(sql`SELECT ${textArray(values)}::text[] AS a`)).toEqual([{ a: values }]);
    expect(await read(sql`SELECT ${textArray([])}::text[] AS a`)).toEqual([{ a: [] }]);
  });

  it("carries documents and numbers", async () => {
    const document = { a: 'x"\\y', b: [1, null] };
    const numbers = [1, null, 9_007_199_254_740_991];
    const rows = await read(sql`
      SELECT (${textArray([JSON.stringify(document)])}::jsonb[])[1] AS d, ${plainArray(numbers)}::bigint[] AS n`);
    expect(rows).toEqual([{ d: document, n: numbers }]);
  });
});
