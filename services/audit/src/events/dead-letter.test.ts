import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Bus, openBus } from "@muster/bus";
import { jobs, sql } from "@muster/db";
import { createLogger, generateNoteKey, noteKeys, systemCaller, uuidv7 } from "@muster/kit";
import { type TestDatabase, type TestNats, testNats, until } from "@muster/testing";
import { runVerification } from "../jobs/verifier.ts";
import { type VerifyResult, verifyKind } from "../rules/verification-job.ts";
import { auditDatabase, auditMessage } from "../testing/audit.ts";
import { startSealer } from "./sealer.ts";

// Poison messages on the real stream, among valid ones of the same chain and partition.

const log = createLogger("audit-test", "fatal");
const system = { caller: systemCaller("audit") };
const { verifiers } = noteKeys(generateNoteKey("test"));

let database: TestDatabase;
let nats: TestNats;
let owner: Bus;
let emitter: Bus;
let sealer: { stop(): Promise<void> };
beforeAll(async () => {
  [database, nats] = await Promise.all([auditDatabase(), testNats()]);
  owner = await openBus({ servers: nats.url, seed: nats.seeds.audit, name: "audit", replicas: 1, log });
  emitter = await openBus({ servers: nats.url, seed: nats.seeds.tenancy, name: "tenancy", replicas: 1, log });
  await owner.ensureStream("AUDIT");
  const deps = { db: database.db, log, now: () => new Date(), batchRows: 500, batchBytes: 1 << 20, concurrency: 1 };
  sealer = await startSealer(owner, deps);
});
afterAll(async () => {
  await sealer?.stop();
  await emitter?.close();
  await owner?.close();
  await nats?.remove();
  await database?.drop();
});

type Change = Parameters<typeof auditMessage>[0];

/** Each bad message, and whether its own row is sealed or a notice replaces it. */
const badMessages: [name: string, change: Change, sealed: boolean][] = [
  ["NUL", { detailsJson: '{"a\\u0000":"\\u0000"}', actorName: "a\u0000b", userAgent: "\u0000" }, true],
  ["lone surrogates", { detailsJson: '{"\\ud800":"\\udfff"}' }, true],
  ["2^63", { detailsJson: '{"n":9223372036854775808,"m":-9223372036854775809}' }, true],
  ["numbers beyond any double", { detailsJson: '{"n":1e400}' }, true],
  ["depth 10,000", { detailsJson: `{"a":${"[".repeat(10_000)}${"]".repeat(10_000)}}` }, false],
  ["objects of depth 10,000", { detailsJson: `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}` }, false],
  ["details of nearly 1 MB", { detailsJson: JSON.stringify({ a: "x".repeat(1_000_000) }) }, false],
  [
    "300-character fields",
    { action: `site.${"a".repeat(300)}`, resourceName: "ü".repeat(300), resourceType: "t".repeat(300) },
    true,
  ],
  [
    "300-character address and ids",
    { ipAddress: "1".repeat(300), actorId: "x".repeat(300), resourceId: "y".repeat(300) },
    true,
  ],
  ["details that are no JSON", { detailsJson: "{" }, false],
  ["an unknown result", { result: "x".repeat(300) }, false],
  ["a time beyond all calendars", { timestamp: { seconds: 9_000_000_000_000_000n, nanos: 0 } }, true],
];

describe("a bad message", () => {
  it.each(badMessages)(
    "with %s does not delay its neighbours, and the chain verifies",
    async (_name, change, sealed) => {
      const [orgId, other, partnerId] = [uuidv7(), uuidv7(), uuidv7()].map((id) => id.replace(/.$/, "a"));
      const good = () => auditMessage({ orgId: String(orgId), partnerId: String(partnerId) });
      const bad = auditMessage({ orgId: String(orgId), partnerId: String(partnerId), ...change });
      const batch = [good(), bad, good(), auditMessage({ orgId: String(other), partnerId: String(partnerId) }), good()];
      for (const { subject, msgId, body } of batch) await emitter.transport.publish({ subject, msgId, body });
      const rows = await until("the neighbours", async () => {
        const found = await database.db.read<{ chain_id: string; id: string; action: string }>(
          system,
          sql`SELECT chain_id, id, action FROM audit_log WHERE chain_id = ANY (${[orgId, other]}::uuid[]) ORDER BY seq`,
        );
        return found.length === 5 ? found : null;
      });
      const row = rows.find(({ id }) => id === bad.msgId.split("/")[1]);
      expect(row?.action === "audit.event.rejected").toBe(!sealed);

      const work = jobs(database.db);
      const id = await work.enqueue({ kind: verifyKind, input: { chainId: orgId, orgId, partnerId, from: null } });
      const job = await work.claim({ kinds: [verifyKind] });
      if (!job) throw new Error("nothing was queued");
      const deps = { db: database.db, log, trust: { verifiers, deployment: "d" }, copies: async () => [] };
      await runVerification(deps, job, new AbortController().signal);
      const result = (await work.get(id))?.result as VerifyResult | null;
      expect(result?.verdicts.map(({ verdict }) => verdict)).toEqual(["OK", "UNPROTECTED_TAIL"]);
    },
  );
});

describe("one batch at a time", () => {
  it("seals messages of all sixteen partitions", async () => {
    const orgIds = Array.from({ length: 16 }, (_, n) => uuidv7().replace(/.$/, n.toString(16)));
    const messages = [...orgIds, ...orgIds].map((orgId) => auditMessage({ orgId, partnerId: uuidv7() }));
    await Promise.all(messages.map(({ subject, msgId, body }) => emitter.transport.publish({ subject, msgId, body })));
    await until("every chain at its second row", async () => {
      const heads = await database.db.read(
        system,
        sql`SELECT 1 FROM chain_head WHERE chain_id = ANY (${orgIds}::uuid[]) AND seq = 2`,
      );
      return heads.length === 16;
    });
  });
});
