import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { systemCaller } from "@muster/kit";
import { deadLetters } from "../tables/dead-letters.ts";
import { jobs } from "../tables/jobs.ts";
import { type TestDatabase, testDatabase } from "../testing/test-database.ts";
import { standingOf } from "./standing.ts";

let test: TestDatabase;
beforeAll(async () => {
  test = await testDatabase({ service: "tenancy", dirs: [] });
});
afterAll(() => test.drop());

it("pending work in a service's tables is counted; what was requeued or has ended is not", async () => {
  expect(await standingOf(test.db)).toEqual({ outboxWaiting: 0, outboxOldestSeconds: 0, deadLetters: 0, openJobs: 0 });
  const body = Buffer.from("x");
  await test.db.tx({ caller: systemCaller("tenancy") }, async (t) => {
    for (const msgId of ["1", "2"]) t.emit({ subject: "tenancy.a.b", msgId, body });
  });
  const letters = deadLetters(test.db);
  const letter = { subject: "tenancy.a.b", msgId: "3", reason: "a test", body, attempts: 1 };
  const [first] = [await letters.put(letter), await letters.put({ ...letter, msgId: "4" })];
  await letters.requeue(first, () => undefined);
  const queue = jobs(test.db);
  await queue.enqueue({ kind: "one" });
  await queue.enqueue({ kind: "two" });
  const job = await queue.claim({ kinds: ["one"] });
  if (!job) throw new Error("no job was claimed");
  await queue.finish(job);
  const standing = await standingOf(test.db);
  expect(standing).toMatchObject({ outboxWaiting: 2, deadLetters: 1, openJobs: 1 });
  expect(standing.outboxOldestSeconds).toBeGreaterThan(0);
});
