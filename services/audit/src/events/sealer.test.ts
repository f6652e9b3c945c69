import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { BusMessage } from "@muster/bus";
import { sql } from "@muster/db";
import { createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { callers, type TestDatabase } from "@muster/testing";
import type { Entry } from "../rules/entry.ts";
import { checksumOf } from "../rules/seal.ts";
import { auditDatabase, auditMessage } from "../testing/audit.ts";
import { sealMessages } from "./sealer.ts";

let database: TestDatabase;
const system = { caller: systemCaller("audit") };
const log = createLogger("audit-test", "fatal");

beforeAll(async () => {
  database = await auditDatabase();
});
afterAll(() => database?.drop());

const deps = () => ({ db: database.db, log, now: () => new Date(), batchRows: 500, batchBytes: 1_048_576 });

const message = (orgId: string, change: Parameters<typeof auditMessage>[0] = {}, service = "tenancy"): BusMessage =>
  auditMessage({ orgId, partnerId: uuidv7(), ...change }, service);

type Row = Record<string, unknown> & { seq: number; checksum: string; prev_checksum: string | null; action: string };
const chain = (chainId: string) =>
  database.db.read<Row>(system, sql`SELECT * FROM audit_log WHERE chain_id = ${chainId} ORDER BY seq`);

/** The row as it was hashed, rebuilt from the database's values. */
function entryOfRow(row: Record<string, unknown>): Entry {
  const present = Object.entries(row).filter(([name, value]) => name !== "targets" || value !== null);
  const camel = present.map(([k, v]) => [k.replace(/_(\w)/g, (_m, c: string) => c.toUpperCase()), v]);
  return Object.fromEntries(camel) as Entry;
}

async function expectIntact(chainId: string, length: number): Promise<Row[]> {
  const rows = await chain(chainId);
  expect(rows.map((r) => r.seq)).toEqual(Array.from({ length }, (_, i) => i + 1));
  let previous: string | null = null;
  for (const row of rows) {
    expect(row.prev_checksum).toBe(previous);
    expect(checksumOf(entryOfRow(row), row.seq, previous, row.personal_salt as Buffer)).toBe(row.checksum);
    previous = row.checksum;
  }
  const [head] = await database.db.read<{ seq: number; checksum: string }>(
    system,
    sql`SELECT seq, checksum FROM chain_head WHERE chain_id = ${chainId}`,
  );
  expect(head).toEqual({ seq: length, checksum: previous });
  return rows;
}

describe("sealing", () => {
  it("links the rows of a batch gap-free, and the stored values verify", async () => {
    const [a, b] = [uuidv7(), uuidv7()];
    await sealMessages(deps(), [message(a), message(b), message(a), message(a)]);
    await expectIntact(a, 3);
    await expectIntact(b, 1);
  });

  it("drops repeats within a batch and across batches", async () => {
    const org = uuidv7();
    const twice = message(org);
    await sealMessages(deps(), [twice, message(org), twice]);
    await sealMessages(deps(), [twice, message(org)]);
    await sealMessages(deps(), [{ ...twice, deliveries: 2 }, message(org)]);
    await sealMessages(deps(), [twice]);
    await expectIntact(org, 4);
  });

  it("keeps the same event id of two organizations apart", async () => {
    const [a, b] = [uuidv7(), uuidv7()];
    const id = uuidv7();
    await sealMessages(deps(), [message(a, { id }), message(b, { id })]);
    await expectIntact(a, 1);
    await expectIntact(b, 1);
  });

  it("does not fork a chain under parallel sealers", async () => {
    const orgs = [uuidv7(), uuidv7(), uuidv7()];
    const batches = Array.from({ length: 24 }, () =>
      Array.from({ length: 9 }, (_, i) => message(orgs[i % 3] as string)),
    );
    await Promise.all(batches.map((batch) => sealMessages(deps(), batch)));
    for (const org of orgs) await expectIntact(org, 72);
  });

  it.each([
    ["no protobuf", (m: BusMessage) => ({ ...m, body: Buffer.from([0xff, 0xff, 0xff]) })],
    ["of another service", (m: BusMessage) => ({ ...m, subject: "audit.identity.0" })],
  ])("dead-letters a message that is %s and continues with its neighbours", async (_name, spoil) => {
    const org = uuidv7();
    const bad = spoil(message(org));
    await sealMessages(deps(), [message(org), bad, message(org)]);
    await expectIntact(org, 2);
    const letters = await database.db.read<{ body: Buffer }>(
      system,
      sql`SELECT body FROM dead_letter WHERE msg_id = ${bad.msgId}`,
    );
    expect(letters).toHaveLength(1);
    const notices = await database.db.read(
      system,
      sql`SELECT 1 FROM audit_log WHERE action = 'audit.event.rejected' AND id = ${bad.msgId.split("/")[1]}`,
    );
    expect(notices).toHaveLength(1);
  });

  it.each([
    ["an id", (m: BusMessage) => m],
    ["none", (m: BusMessage) => ({ ...m, msgId: `not one of ours ${uuidv7()}` })],
    ["hostile text", (m: BusMessage) => ({ ...m, msgId: `\ud800\u0000${uuidv7()}` })],
  ])("dead-letters an invalid message with %s once, however often it is delivered", async (_name, spoil) => {
    const org = uuidv7();
    const bad = spoil({
      ...message(org),
      body: Buffer.from([0xff, 0xff, 0xff]),
      subject: `audit.tenancy.${org.slice(-4)}`,
    });
    for (let delivery = 0; delivery < 3; delivery++) await sealMessages(deps(), [bad, message(org)]);
    await expectIntact(org, 3);
    for (const statement of [
      sql`SELECT 1 FROM dead_letter WHERE subject = ${bad.subject}`,
      sql`SELECT 1 FROM audit_log WHERE action = 'audit.event.rejected' AND details->>'subject' = ${bad.subject}`,
    ]) {
      expect(await database.db.read(system, statement)).toHaveLength(1);
    }
  });

  it("drops an organization's events without an organization, and nothing else", async () => {
    const partnerId = uuidv7();
    const at = (action: string) => auditMessage({ partnerId, action });
    await sealMessages(deps(), [at("site.create")]);
    const refused = auditMessage({ partnerId, action: "site.delete", result: "denied" });
    await sealMessages(deps(), [at("device_group.update"), at("partner.update"), at("organization.create"), refused]);
    const actions = ["partner.update", "organization.create", "site.delete"];
    expect((await expectIntact(partnerId, 3)).map((r) => r.action)).toEqual(actions);
  });

  it("seals a message that exceeded its deliveries as a notice with the reason", async () => {
    const org = uuidv7();
    await sealMessages(deps(), [message(org)], "broken \u0000 \udfff");
    const [row] = await expectIntact(org, 1);
    expect(row).toMatchObject({ action: "audit.event.rejected", error_message: "broken \ufffd \ufffd" });
  });

  it("sets the partner of a chain whose first row did not name it", async () => {
    const [org, partnerId] = [uuidv7(), uuidv7()];
    const partner = { caller: callers.partnerAdmin(partnerId) };
    const heads = () => database.db.read(partner, sql`SELECT 1 FROM chain_head WHERE chain_id = ${org}`);
    await sealMessages(deps(), [message(org, { partnerId: "" })]);
    expect(await heads()).toHaveLength(0);
    await sealMessages(deps(), [message(org, { partnerId: "" }), message(org, { partnerId })]);
    expect(await heads()).toHaveLength(1);
    await expectIntact(org, 3);
  });

  it("seals new and old chains under parallel sealers in any order", async () => {
    const orgs = Array.from({ length: 6 }, () => uuidv7());
    const shuffled = (n: number) => orgs.map((_, i) => orgs[(i * (n % 2 === 0 ? 1 : 5) + n) % 6] as string);
    await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        sealMessages(
          deps(),
          shuffled(n)
            .slice(0, 3 + (n % 4))
            .map((org) => message(org)),
        ),
      ),
    );
    const rows = await Promise.all(orgs.map(chain));
    expect(rows.flat()).toHaveLength(Array.from({ length: 30 }, (_, n) => 3 + (n % 4)).reduce((a, b) => a + b));
    for (const [i, org] of orgs.entries()) await expectIntact(org, rows[i]?.length ?? 0);
  });

  it("seals a notice in the event's own chain when its service may emit there", async () => {
    const org = uuidv7();
    await sealMessages(deps(), [message(org), message(org, { result: "maybe" }), message(org)]);
    const rows = await expectIntact(org, 3);
    expect(rows.map((r) => r.action)).toEqual(["site.create", "audit.event.rejected", "site.create"]);
  });

  it.each([
    ["NUL", { detailsJson: '{"a":"\\u0000"}', actorName: "a\u0000b" }],
    ["lone surrogates", { detailsJson: '{"\\ud800":"\\udfff"}' }],
    ["2^63", { detailsJson: '{"n":9223372036854775808,"e":1e308,"tiny":5e-324}' }],
    ["numbers beyond any double", { detailsJson: '{"n":1e400,"m":-1e999}' }],
    ["300-character fields", { action: `site.${"a".repeat(300)}`, resourceName: "ü".repeat(300) }],
    ["__proto__", { detailsJson: '{"__proto__":{"x":1},"constructor":1,"toJSON":"no"}' }],
  ])("seals an invalid row with %s so that it still verifies", async (_name, change) => {
    const org = uuidv7();
    await sealMessages(deps(), [message(org), message(org, change), message(org)]);
    const rows = await expectIntact(org, 3);
    expect(rows[1]?.action).toMatch(/^site\./);
  });
});

describe("the table itself", () => {
  it.each([
    "UPDATE audit_log SET action = 'x'",
    "DELETE FROM audit_log",
    "TRUNCATE audit_log",
    "UPDATE audit_log_00 SET action = 'x'",
    "TRUNCATE audit_log_00",
    "ALTER TABLE audit_log ADD COLUMN x int",
    "DELETE FROM chain_head",
    "SET LOCAL session_replication_role = replica",
  ])("refuses the application role: %s", async (text) => {
    await sealMessages(deps(), [message(uuidv7())]);
    await expect(database.db.tx(system, (tx) => tx.execute({ text, values: [] }))).rejects.toThrow();
  });

  it("shows no rows without a caller, and a tenant only its own", async () => {
    const [org, other, partnerId] = [uuidv7(), uuidv7(), uuidv7()];
    await sealMessages(deps(), [message(org, { partnerId }), message(other, { partnerId })]);
    const count = async (caller: Parameters<typeof database.db.read>[0]["caller"]) =>
      (
        await database.db.read(
          caller ? { caller } : { caller: null },
          sql`SELECT 1 FROM audit_log WHERE partner_id = ${partnerId}`,
        )
      ).length;
    const base = systemCaller("test");
    expect(await count(null)).toBe(0);
    expect(await count({ ...base, scope: "organization", partnerId, orgId: org })).toBe(1);
    expect(await count({ ...base, scope: "partner", partnerId, orgAccess: { mode: "all" } })).toBe(2);
    expect(await count({ ...base, scope: "partner", partnerId, orgAccess: { mode: "list", orgIds: [other] } })).toBe(1);
    expect(await count({ ...base, scope: "partner", partnerId, orgAccess: { mode: "list", orgIds: [] } })).toBe(0);
    expect(await count({ ...base, scope: "partner", partnerId: uuidv7(), orgAccess: { mode: "all" } })).toBe(0);
  });
});
