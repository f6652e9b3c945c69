import { fromBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { AppendService } from "@muster/proto/muster/audit/v1/append_pb";
import { AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { register, toAppError } from "@muster/rpc";
import { callers, type TestDatabase, type TestPort, testPort } from "@muster/testing";
import { sealMessages } from "../events/sealer.ts";
import { complianceActions, securityActions } from "../rules/reported-actions.ts";
import { removeOldAppended } from "../store/appended.ts";
import { auditDatabase, auditMessage, readerOf } from "../testing/audit.ts";
import { appendService } from "./append.ts";

let database: TestDatabase;
let port: TestPort;
const now = new Date();
const system = { caller: systemCaller("audit") };
const limit = 5;

beforeAll(async () => {
  database = await auditDatabase();
  const deps = { ...readerOf(database), now: () => now, appendedRowsPerDay: limit };
  port = await testPort("audit", [register(AppendService, appendService(deps))]);
});
afterAll(async () => {
  await port?.close();
  await database?.drop();
});

/** An organization that the copy of tenants knows, and a key of it that may append. */
async function organization(change: Partial<Caller> = {}) {
  const [partnerId, orgId] = [uuidv7(), uuidv7()];
  await database.db.tx(system, (tx) =>
    tx.execute(sql`
      INSERT INTO tenant (kind, id, partner_id, org_id, version, status, deleted, updated_at)
      VALUES ('organization', ${orgId}, ${partnerId}, ${orgId}, 1, 'active', false, now())`),
  );
  const user = callers.orgAdmin(partnerId, orgId, { permissions: ["audit:append"] });
  const actor = { ...user.actor, type: "api_key" as const, email: null, name: "Billing" };
  return { partnerId, orgId, key: { ...user, actor, sessionId: null, ...change } };
}

const event = (change: object = {}) => ({
  id: uuidv7(),
  action: "custom.invoice.approve",
  resourceType: "invoice",
  resourceId: "2026-0042",
  ...change,
});
const append = (caller: Caller, events: object[], orgId = "") =>
  port.client(AppendService, caller).appendEvents({ orgId, events });
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => "answered",
    (error: unknown) => {
      const { code, facts, retryAfterSeconds } = toAppError(error);
      if (code !== "validation_failed") return [code, facts.limit, (retryAfterSeconds ?? 0) > 0];
      return Object.keys((facts.details as { fieldErrors: object }).fieldErrors);
    },
  );
const outbox = async (orgId: string) =>
  (
    await database.db.read<{ subject: string; msg_id: string; body: Buffer }>(
      system,
      sql`SELECT subject, msg_id, body FROM outbox ORDER BY id`,
    )
  )
    .map(({ body, ...message }) => ({ ...message, body, event: fromBinary(AuditEventSchema, body) }))
    .filter((message) => message.event.orgId === orgId);
const seal = async (orgId: string) =>
  sealMessages(
    { db: database.db, log: createLogger("test", "fatal"), now: () => now, batchRows: 500, batchBytes: 1_048_576 },
    (await outbox(orgId)).map(({ subject, msg_id: msgId, body }, n) => {
      return { subject, msgId, body, streamSeq: n + 1, deliveries: 1, traceparent: null };
    }),
  );

describe("own audit events", () => {
  it("are in the outbox before the answer, by their sender, with the actor whom it claims", async () => {
    const { orgId, partnerId, key } = await organization();
    const sent = event({ claimedActor: { id: "u-17", name: "Ada" }, detailsJson: '{"amount":"120.00"}' });
    expect(await append(key, [sent])).toMatchObject({ ids: [sent.id], repeatedEvents: 0 });
    const [message] = await outbox(orgId);
    expect(message?.subject).toMatch(/^audit\.audit\.\d+$/);
    expect(message?.event).toMatchObject({
      id: sent.id,
      chainId: orgId,
      partnerId,
      actorType: "api_key",
      actorId: key.actor.id,
      actorName: "Billing",
      action: "custom.invoice.approve",
      result: "success",
    });
    expect(JSON.parse(message?.event.detailsJson ?? "")).toEqual({
      amount: "120.00",
      claimedActor: { id: "u-17", name: "Ada" },
    });
    await seal(orgId);
    const rows = await database.db.read<object>(system, sql`SELECT * FROM audit_log WHERE chain_id = ${orgId}`);
    expect(rows).toMatchObject([{ seq: 1, id: sent.id, details: { rawResourceId: "2026-0042" } }]);
  });

  it("are stored once by their id, before and after they are sealed, and count once", async () => {
    const { orgId, key } = await organization();
    const [a, b, c] = [event(), event(), event()];
    await append(key, [a, b]);
    expect(await append(key, [b, c])).toMatchObject({ ids: [b.id, c.id], repeatedEvents: 1 });
    await seal(orgId);
    await removeOldAppended(database.db, new Date(now.getTime() + 49 * 3_600_000));
    const [{ left } = { left: null }] = await database.db.read<{ left: number }>(
      system,
      sql`SELECT count(*)::int AS left FROM appended_event WHERE org_id = ${orgId}`,
    );
    expect(left).toBe(0);
    expect(await append(key, [a, b, c])).toMatchObject({ repeatedEvents: 3 });
    expect(await outbox(orgId)).toHaveLength(3);
  });

  it("keep their ids while they are not sealed, however long that takes", async () => {
    const { orgId, key } = await organization();
    const early = event();
    await append(key, [early]);
    await removeOldAppended(database.db, new Date(now.getTime() + 49 * 3_600_000));
    expect(await append(key, [early])).toMatchObject({ repeatedEvents: 1 });
    expect(await outbox(orgId)).toHaveLength(1);
  });

  it("beyond the rows of a day are refused as a whole, with the time until the next one", async () => {
    const { orgId, key } = await organization();
    const first = Array.from({ length: limit - 1 }, () => event());
    await append(key, first);
    expect(await refusal(append(key, [event(), event()]))).toEqual(["rate_limited", limit, true]);
    expect(await outbox(orgId)).toHaveLength(limit - 1);
    // Repeats take no room.
    await append(key, [...first, event()]);
    expect(await outbox(orgId)).toHaveLength(limit);
    expect(await refusal(append(key, [event()]))).toEqual(["rate_limited", limit, true]);
  });

  it("are refused without the permission, to users limited to sites, and for other organizations", async () => {
    const { orgId, partnerId, key } = await organization();
    const other = await organization();
    const read = { ...key, permissions: ["audit:read", "audit:write"] };
    expect(await refusal(append(read, [event()]))).toEqual(["permission_denied", undefined, false]);
    const limited = { ...key, siteIds: [uuidv7()] };
    expect(await refusal(append(limited, [event()]))).toEqual(["site_restricted", undefined, false]);
    expect(await refusal(append(key, [event()], other.orgId))).toEqual(["organization_not_found", undefined, false]);
    const partner = callers.partnerAdmin(partnerId, { permissions: ["audit:append"] });
    expect(await refusal(append(partner, [event()]))).toEqual(["organization_context_required", undefined, false]);
    expect(await refusal(append(partner, [event()], orgId))).toBe("answered");
    expect(await refusal(append(partner, [event()], other.orgId))).toEqual([
      "organization_not_found",
      undefined,
      false,
    ]);
  });

  const minutes = (n: number) => timestampFromDate(new Date(now.getTime() + n * 60_000));
  it.each<[string, object, string]>([
    ["an action of the platform", { action: "user.login" }, "events.0.action"],
    ["no word after custom", { action: "custom." }, "events.0.action"],
    ["capitals", { action: "custom.Invoice" }, "events.0.action"],
    ["a long action", { action: `custom.${"a".repeat(94)}` }, "events.0.action"],
    ["a malformed id", { id: "7" }, "events.0.id"],
    ["an old time", { timestamp: minutes(-30 * 1_440 - 1) }, "events.0.timestamp"],
    ["a coming time", { timestamp: minutes(6) }, "events.0.timestamp"],
    ["no resource", { resourceId: "" }, "events.0.resource.id"],
    ["an unknown result", { result: "ok" }, "events.0.result"],
    ["details that are no object", { detailsJson: "[]" }, "events.0.details"],
    ["details that are no JSON", { detailsJson: "{" }, "events.0.details"],
    ["large details", { detailsJson: JSON.stringify({ a: "x".repeat(16_384) }) }, "events.0.details"],
    ["a claimed actor in its details", { detailsJson: '{"claimedActor":{}}' }, "events.0.details"],
    ["a long claimed name", { claimedActor: { name: "x".repeat(256) } }, "events.0.claimedActor.name"],
    ["a target without an id", { targets: [{ type: "user" }] }, "events.0.targets.0.id"],
    [
      "too many targets",
      { targets: Array.from({ length: 21 }, () => ({ type: "user", id: "7" })) },
      "events.0.targets",
    ],
    ["a NUL", { resourceName: "a\0" }, "events.0.resource.name"],
  ])("with %s are refused, by the name of the field", async (_, change, field) => {
    const { orgId, key } = await organization();
    expect(await refusal(append(key, [event(change), event()]))).toEqual([field]);
    expect(await outbox(orgId)).toEqual([]);
  });

  it("number 1 to 100 a request, each under an id of its own", async () => {
    const { key } = await organization();
    const twice = event();
    expect(await refusal(append(key, []))).toEqual(["events"]);
    expect(
      await refusal(
        append(
          key,
          Array.from({ length: 101 }, () => event()),
        ),
      ),
    ).toEqual(["events"]);
    expect(await refusal(append(key, [twice, { ...twice, id: twice.id.toUpperCase() }]))).toEqual(["events.1.id"]);
  });

  it("are no security events and not tracked for compliance; no other service may emit them", async () => {
    expect([...securityActions, ...complianceActions].filter((action) => action.startsWith("custom."))).toEqual([]);
    const orgId = uuidv7();
    const log = createLogger("test", "fatal");
    await sealMessages({ db: database.db, log, now: () => now, batchRows: 500, batchBytes: 1_048_576 }, [
      auditMessage({ orgId, partnerId: uuidv7(), action: "custom.user.login" }, "tenancy"),
    ]);
    const rows = await database.db.read<object>(system, sql`SELECT action FROM audit_log WHERE chain_id = ${orgId}`);
    expect(rows).not.toContainEqual({ action: "custom.user.login" });
  });
});
