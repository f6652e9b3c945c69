import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Bus, openBus } from "@muster/bus";
import { jobs, sql, startRelay } from "@muster/db";
import { createLogger, generateNoteKey, noteKeys, openNote, systemCaller, uuidv7 } from "@muster/kit";
import { asOwner, type TestDatabase, type TestNats, testNats, until } from "@muster/testing";
import { directoryArchive } from "../clients/archive/directory.ts";
import { checkpointsOutside, type Outside } from "../clients/checkpoint-copies.ts";
import { declareRestore } from "../commands/declare-restore.ts";
import { sealMessages } from "../events/sealer.ts";
import { parseCheckpoint } from "../rules/checkpoint.ts";
import { type VerifyResult, verifyKind } from "../rules/verification-job.ts";
import { takeLease } from "../store/checkpoints.ts";
import { auditDatabase, auditMessage } from "../testing/audit.ts";
import { checkpointRound } from "./checkpointer.ts";
import { runVerification } from "./verifier.ts";

// The tables' owner removes a tail, checkpoints included, and the chain continues until the stream has displaced every
// earlier note.

const log = createLogger("audit-test", "fatal");
const system = { caller: systemCaller("audit") };
const { signer, verifiers } = noteKeys(generateNoteKey("test"));
const holder = uuidv7();
// The stream keeps 24 of a chain.
const newer = 30;

let database: TestDatabase;
let nats: TestNats;
let bus: Bus;
let relay: { stop(): Promise<void> };
let directory: string;
beforeAll(async () => {
  [database, nats] = await Promise.all([auditDatabase(), testNats()]);
  bus = await openBus({ servers: nats.url, seed: nats.seeds.audit, name: "audit", replicas: 1, log });
  await bus.ensureStream("CHECKPOINTS");
  await bus.ensureStream("AUDIT");
  relay = startRelay({ db: database.db, transport: bus.transport, log, pollMs: 10 });
  directory = await mkdtemp(join(tmpdir(), "muster-truncated-"));
  await asOwner(database, (client) =>
    client.query(
      Array.from(
        { length: 16 },
        (_, n) => `ALTER TABLE audit_log_${String(n).padStart(2, "0")} DISABLE TRIGGER ALL`,
      ).join(";"),
    ),
  );
});
afterAll(async () => {
  await relay?.stop();
  await bus?.close();
  await nats?.remove();
  await database?.drop();
  if (directory) await rm(directory, { recursive: true, force: true });
});

async function seal(orgId: string, count: number): Promise<void> {
  const messages = Array.from({ length: count }, () => auditMessage({ orgId }));
  await sealMessages({ db: database.db, log, now: () => new Date(), batchRows: 500, batchBytes: 1 << 20 }, messages);
}

const positionOf = (note: string) => parseCheckpoint(openNote(note, verifiers).text, "d")?.seq;

type SignedCache = Parameters<typeof checkpointRound>[3];

/** Signs the chain's head, and waits until the stream has it. */
async function sign(orgId: string, outside: Outside, signedCache?: SignedCache): Promise<void> {
  const facts = { intervalSeconds: 0, rows: 1, anchorSeconds: 3_600, copies: null, lockDays: 0 };
  const deps = { db: database.db, log, now: () => new Date(), signer, verifiers, deployment: "d", outside, ...facts };
  await takeLease(database.db, holder);
  await checkpointRound(deps, holder, null, signedCache);
  const [head] = await database.db.read<{ seq: number }>(
    system,
    sql`SELECT seq FROM chain_head WHERE chain_id = ${orgId}`,
  );
  await until("the note on the stream", async () => {
    const body = await bus.newest("CHECKPOINTS", `checkpoints.${orgId}`);
    return body !== null && positionOf(Buffer.from(body).toString()) === head?.seq;
  });
}

const truncate = (orgId: string, last: number) =>
  asOwner(database, (client) =>
    client.query(
      `DELETE FROM audit_log WHERE chain_id = '${orgId}' AND seq > ${last};
       DELETE FROM checkpoint WHERE chain_id = '${orgId}' AND seq > ${last};
       UPDATE chain_head SET seq = ${last}, checksum = (SELECT checksum FROM audit_log WHERE chain_id = '${orgId}' AND seq = ${last})
         WHERE chain_id = '${orgId}'`,
    ),
  );

async function verdicts(orgId: string, outside: Outside): Promise<string[]> {
  const work = jobs(database.db);
  const id = await work.enqueue({ kind: verifyKind, input: { chainId: orgId, orgId, partnerId: null, from: null } });
  const job = await work.claim({ kinds: [verifyKind] });
  if (!job) throw new Error("nothing was queued");
  const deps = { db: database.db, log, trust: { verifiers, deployment: "d" }, copies: outside.copies };
  await runVerification(deps, job, new AbortController().signal);
  const result = (await work.get(id))?.result as VerifyResult | null;
  return (result?.verdicts ?? []).map(({ verdict, seq }) => `${verdict} ${seq ?? ""}`.trim());
}

const contradictions = (orgId: string) =>
  database.db.read(
    system,
    sql`SELECT 1 FROM outbox WHERE msg_id LIKE ${`${orgId}/%`} AND subject LIKE 'audit.audit.%'
        AND position('audit.chain.contradicted'::bytea IN body) > 0`,
  );

describe("a chain that was truncated and continued", () => {
  const emptyCache = () => new Map() as NonNullable<SignedCache>;
  it.each([
    ["the process that signed before", emptyCache, false],
    ["another process", () => undefined, false],
    ["a process that finds no stream any more, only copies", () => undefined, true],
  ])(
    "shows its truncation after more checkpoints than the stream keeps: signed by %s",
    async (_name, newSignedCache, isLost) => {
      const objects = isLost ? directoryArchive(directory) : null;
      const outside = checkpointsOutside({ bus: () => bus, objects, log, now: () => new Date(), lockDays: 0 });
      const orgId = uuidv7();
      const signedCache = newSignedCache();
      await seal(orgId, 5);
      await sign(orgId, outside, signedCache);
      await seal(orgId, 5);
      await sign(orgId, outside, signedCache);
      expect(await verdicts(orgId, outside)).toEqual(["OK 1"]);
      expect(await contradictions(orgId)).toHaveLength(0);
      const lost = await outside.newest(orgId);
      if (isLost) await objects?.put(`checkpoints/${orgId}/${"10".padStart(16, "0")}.note`, Buffer.from(String(lost)));

      await truncate(orgId, 6);
      const queried = isLost ? { ...outside, newest: async () => lost } : outside;
      for (let n = 0; n < newer; n++) {
        await seal(orgId, 1);
        await sign(orgId, n === 0 ? queried : outside, signedCache);
      }
      const onStream = await bus.kept("CHECKPOINTS", `checkpoints.${orgId}`, 100);
      expect(
        onStream.map((body) => positionOf(Buffer.from(body).toString())).sort((a = 0, b = 0) => a - b)[0],
      ).toBeGreaterThan(10);
      expect(await verdicts(orgId, outside)).toEqual(["CHECKPOINT_MISMATCH 10"]);
      // Reported once, where readers of the chain see it.
      expect(await contradictions(orgId)).toHaveLength(1);
      if (objects) {
        const copies = checkpointsOutside({ bus: () => null, objects, log, now: () => new Date(), lockDays: 0 });
        expect(await verdicts(orgId, copies)).toEqual(["CHECKPOINT_MISMATCH 10"]);
      }
    },
    120_000,
  );

  it("is RESTORED and contradicts nothing when an operator declared a restore", async () => {
    const objects = directoryArchive(join(directory, "restored"));
    const outside = checkpointsOutside({ bus: () => bus, objects, log, now: () => new Date(), lockDays: 0 });
    const orgId = uuidv7();
    const later = async () => {
      const at = new Date();
      await until("another millisecond", async () => Date.now() > at.getTime());
      return at;
    };
    await seal(orgId, 5);
    await sign(orgId, outside);
    const restoredTo = await later();
    await seal(orgId, 5);
    await sign(orgId, outside);
    await truncate(orgId, 6);
    await later();
    const deps = { db: database.db, outside, signer, deployment: "d", now: () => new Date() };
    await expect(declareRestore(deps, new Date(Date.now() + 60_000))).rejects.toThrow("must be in the past");
    await declareRestore(deps, restoredTo);
    await later();
    await seal(orgId, 1);
    await sign(orgId, outside);
    expect(await contradictions(orgId)).toHaveLength(0);
    expect(await verdicts(orgId, outside)).toEqual(["OK 1", "RESTORED 10"]);
    // The copies alone show it, too, when the stream is lost.
    const copies = checkpointsOutside({ bus: () => null, objects, log, now: () => new Date(), lockDays: 0 });
    expect(await copies.copies(orgId)).toHaveLength(1);
    const said = await database.db.read(
      system,
      sql`SELECT 1 FROM outbox WHERE position('audit.restore.declared'::bytea IN body) > 0`,
    );
    expect(said).toHaveLength(1);
  });

  it("is not signed again as long as no external store answers", async () => {
    const orgId = uuidv7();
    await seal(orgId, 3);
    const outside = checkpointsOutside({ bus: () => bus, objects: null, log, now: () => new Date(), lockDays: 0 });
    const away = { ...outside, newest: () => Promise.reject(new Error("away")) };
    await expect(sign(orgId, away)).rejects.toThrow("away");
    const rows = await database.db.read(system, sql`SELECT 1 FROM checkpoint WHERE chain_id = ${orgId}`);
    expect(rows).toHaveLength(0);
    await sign(orgId, outside);
  });
});
