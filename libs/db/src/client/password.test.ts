import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { createLogger } from "@muster/kit";
import { type TestDatabase, testDatabase, withRolesLock } from "../testing/test-database.ts";
import { connectWhenUp } from "./connect.ts";
import { openDatabase } from "./database.ts";
import { sql } from "./statement.ts";

const log = createLogger("test", "silent");
const password = "a/b#c?d%41:@e &$";
let test: TestDatabase;
let role: string;
let url: string;
beforeAll(async () => {
  test = await testDatabase({ service: "tenancy", dirs: [] });
  const target = new URL(test.superuserUrl);
  role = `${target.pathname.slice(1)}_password`;
  target.username = role;
  target.password = "";
  target.pathname = "/postgres";
  url = target.href;
  await withRolesLock((admin) => admin.query(`create role "${role}" login password '${password}'`));
});
afterAll(async () => {
  delete process.env.PGPASSWORD;
  await withRolesLock((admin) => admin.query(`drop role "${role}"`));
  await test.drop();
});

it("takes a password apart from the URL, whatever its characters", async () => {
  process.env.PGPASSWORD = password;
  const client = await connectWhenUp({ url, log });
  await client.end();
  const db = openDatabase({ url, max: 1, name: "tenancy", log });
  expect(await db.read({ caller: null }, sql`select session_user::text as name`)).toEqual([{ name: role }]);
  await db.close();
});

it("names PGPASSWORD when the password is wrong", async () => {
  process.env.PGPASSWORD = "another";
  await expect(connectWhenUp({ url, log })).rejects.toThrow("give its password in the URL or in PGPASSWORD");
});
