import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, uuidv7 } from "@muster/kit";
import { toAppError } from "@muster/rpc";
import { startTestKeys, type TestKeys, tenantOf } from "../testing/keys.ts";

let keys: TestKeys;
let orgId: string;
let admin: Caller;
let other: Caller;
beforeAll(async () => {
  keys = await startTestKeys();
  const tenant = await tenantOf(keys);
  orgId = tenant.orgId;
  admin = tenant.orgAdmin;
  other = tenant.partnerAdmin;
});
afterAll(async () => {
  await keys?.close();
});

const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => "ok",
    (error: unknown) => toAppError(error).code,
  );

/** The one operation of each kind whose reply holds a secret, as `by` calls it under `key`. */
const operations: Record<string, (by: Caller, key: string, name: string) => Promise<{ key: string; id: string }>> = {
  "an API key": async (by, idempotencyKey, name) => {
    const reply = await keys.repeatable(by, idempotencyKey).apiKeys.createApiKey({ orgId, name });
    return { key: reply.key, id: reply.apiKey?.id as string };
  },
  "a service principal": async (by, idempotencyKey, name) => {
    const reply = await keys.repeatable(by, idempotencyKey).principals.createServicePrincipal({ orgId, name });
    return { key: reply.key, id: reply.principal?.id as string };
  },
  "an enrollment key": async (by, idempotencyKey, name) => {
    const reply = await keys.repeatable(by, idempotencyKey).enrollmentKeys.createEnrollmentKey({ orgId, name });
    return { key: reply.key, id: reply.enrollmentKey?.id as string };
  },
};

describe.each(Object.entries(operations))("%s made under an Idempotency-Key", (_kind, make) => {
  it("is made once, and a repeat of the same caller returns its secret again", async () => {
    const key = uuidv7();
    const replies = await Promise.all(Array.from({ length: 20 }, () => make(admin, key, "Once")));
    replies.push(await make(admin, key, "Once"));
    expect(replies[0]?.key.length).toBeGreaterThan(20);
    for (const reply of replies) expect(reply).toEqual(replies[0]);
    expect(await keys.auditOf(replies[0]?.id as string)).toHaveLength(1);
    expect(await codeOf(make(admin, key, "Another"))).toBe("idempotency_conflict");
    expect((await make(other, key, "Once")).key).not.toBe(replies[0]?.key);
  });

  it("stores its secret only sealed", async () => {
    const { key: secret } = await make(admin, uuidv7(), "Sealed");
    const rows = await keys.db.read<{ reply: Buffer }>({ caller: admin }, sql`SELECT reply FROM idempotency`);
    expect(rows.length).toBeGreaterThan(0);
    for (const { reply } of rows) expect(reply.includes(secret)).toBe(false);
  });
});

describe("an enrollment key rotated under an Idempotency-Key", () => {
  it("is rotated once", async () => {
    const { id } = await (operations["an enrollment key"] as (typeof operations)[string])(admin, uuidv7(), "Rotated");
    const as = keys.repeatable(admin, uuidv7()).enrollmentKeys;
    const first = await as.rotateEnrollmentKey({ id });
    expect(await as.rotateEnrollmentKey({ id })).toEqual(first);
    expect((await keys.auditOf(id)).map(({ action }) => action)).toEqual([
      "enrollment_key.create",
      "enrollment_key.rotate",
    ]);
  });
});
