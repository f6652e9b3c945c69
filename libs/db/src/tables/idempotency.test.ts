import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { systemCaller, uuidv7 } from "@muster/kit";
import { sql } from "../client/statement.ts";
import { type TestDatabase, testDatabase, withClient } from "../testing/test-database.ts";
import { removeExpiredReplies, storedReply, storeReply, takeIdempotencyKey } from "./idempotency.ts";

let test: TestDatabase;
beforeAll(async () => {
  test = await testDatabase({ service: "tenancy", dirs: [] });
});
afterAll(() => test.drop());

const someone = () => {
  const id = uuidv7();
  return { ...systemCaller(id), scope: "organization" as const, orgId: uuidv7() };
};
const sha256 = createHash("sha256").update("request").digest();
const requestOf = (caller: string, key = "k") => ({ caller, rpc: "x.Y/Z", key, sha256 });
const reply = Buffer.from("reply");

describe("a key", () => {
  it("is taken once, then returns what was stored under it", async () => {
    const caller = someone();
    const request = requestOf(caller.actor.id);
    await test.db.tx({ caller }, async (tx) => {
      expect(await takeIdempotencyKey(tx, request)).toBeNull();
      await storeReply(tx, request, reply);
    });
    expect(await test.db.tx({ caller }, (tx) => takeIdempotencyKey(tx, request))).toEqual({ sha256, reply });
  });

  it("makes the second of two wait: free when the first is undone", async () => {
    const caller = someone();
    const request = requestOf(caller.actor.id);
    let second: Promise<unknown> | undefined;
    const first = test.db.tx({ caller }, async (tx) => {
      await takeIdempotencyKey(tx, request);
      second = test.db.tx({ caller }, async (other) => {
        const stored = await takeIdempotencyKey(other, request);
        await storeReply(other, request, Buffer.from("second"));
        return stored;
      });
      await storeReply(tx, request, reply);
      throw new Error("undone");
    });
    await expect(first).rejects.toThrow("undone");
    expect(await second).toBeNull();
    const stored = await test.db.tx({ caller }, (tx) => takeIdempotencyKey(tx, request));
    expect(stored?.reply.toString()).toBe("second");
  });

  it("is looked up without being taken: only its own caller's reply of the last 24 hours", async () => {
    const caller = someone();
    const request = requestOf(caller.actor.id, "looked-up");
    expect(await storedReply(test.db, { caller }, request)).toBeNull();
    await test.db.tx({ caller }, async (tx) => {
      expect(await takeIdempotencyKey(tx, request)).toBeNull();
      await storeReply(tx, request, reply);
    });
    expect(await storedReply(test.db, { caller }, request)).toEqual({ sha256, reply });
    expect(await storedReply(test.db, { caller: someone() }, request)).toBeNull();
    await withClient(test.ownerUrl, (owner) =>
      owner.query("update idempotency set created_at = now() - interval '24.1 hours' where key = 'looked-up'"),
    );
    expect(await storedReply(test.db, { caller }, request)).toBeNull();
  });

  it("cannot be taken in another's name", async () => {
    const taking = test.db.tx({ caller: someone() }, (tx) => takeIdempotencyKey(tx, requestOf(uuidv7())));
    await expect(taking).rejects.toMatchObject({ code: "42501" });
    const nobody = test.db.tx({ caller: null }, (tx) => takeIdempotencyKey(tx, requestOf(uuidv7())));
    await expect(nobody).rejects.toMatchObject({ code: "42501" });
  });
});

describe("clean-up", () => {
  it("removes what is older than 24 hours, of every caller, and nothing else", async () => {
    const ages = [23, 24.5, 25, 100];
    await withClient(test.ownerUrl, async (owner) => {
      await owner.query("delete from idempotency");
      for (const [index, hours] of ages.entries()) {
        await owner.query(
          `insert into idempotency (caller, rpc, key, request_sha256, reply, created_at)
           values ($1, 'x.Y/Z', 'k', $2, 'r', now() - $3::float8 * interval '1 hour')`,
          [`caller-${index}`, sha256, hours],
        );
      }
    });
    expect(await removeExpiredReplies(test.db)).toBe(3);
    expect(await removeExpiredReplies(test.db)).toBe(0);
    const own = { caller: systemCaller("caller-0") };
    expect(await test.db.read(own, sql`select caller from idempotency`)).toEqual([{ caller: "caller-0" }]);
  });
});
