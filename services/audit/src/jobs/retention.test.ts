import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { checkSchema, type Database, openDatabase, sql } from "@muster/db";
import { createLogger, generateNoteKey, noteKeys, openNote, systemCaller, uuidv7, zeroUuid } from "@muster/kit";
import { tenantMigrations } from "@muster/service";
import type { TestDatabase } from "@muster/testing";
import pg from "pg";
import type { Archive } from "../clients/archive/archive.ts";
import { directoryArchive } from "../clients/archive/directory.ts";
import { s3Archive } from "../clients/archive/s3.ts";
import { prunerGrants } from "../config.ts";
import { sealMessages } from "../events/sealer.ts";
import { sha256 } from "../rules/archive-chunk.ts";
import { parseLine } from "../rules/export-line.ts";
import { parseReceipt } from "../rules/receipt.ts";
import { checksumOf } from "../rules/seal.ts";
import { retentionLease } from "../store/retention-lease.ts";
import { auditDatabase, auditMessage } from "../testing/audit.ts";
import { s3Server } from "../testing/s3-server.ts";
import { type RetentionDeps, retentionPass } from "./retention.ts";

const log = createLogger("retention-test", "fatal");
const dayMs = 86_400_000;
const keys = noteKeys(generateNoteKey("muster.local"));
const system = { caller: systemCaller("audit") };
const never = new AbortController().signal;

let database: TestDatabase;
let pruner: Database;
let directory: string;

beforeAll(async () => {
  database = await auditDatabase();
  pruner = openDatabase({ url: database.dutyUrl("pruner"), max: 2, name: "audit-retention", log });
  directory = await mkdtemp(join(tmpdir(), "muster-retention-"));
});
afterAll(async () => {
  await pruner?.close();
  await database?.drop();
  await rm(directory, { recursive: true, force: true });
});

const deps = (change: Partial<RetentionDeps> = {}): RetentionDeps => ({
  db: pruner,
  archive: directoryArchive(directory),
  lease: { hold: async () => true, release: async () => undefined },
  signer: keys.signer,
  deployment: "muster.local",
  log,
  defaultDays: 365,
  chunkRows: 5_000,
  chunkBytes: 16_777_216,
  chainsPerRead: 500,
  ...change,
});
const pass = (change: Partial<RetentionDeps> = {}) => retentionPass(deps(change), never);

/** Seals one row per age (days), in order. Events older than 30 days are clamped, so the clock is moved. */
async function chainOf(...ages: number[]): Promise<string> {
  const orgId = uuidv7();
  await extend(orgId, ...ages);
  return orgId;
}

async function extend(orgId: string, ...ages: number[]): Promise<void> {
  for (const age of ages) {
    const at = new Date(Date.now() - age * dayMs);
    const sealer = { db: database.db, log, now: () => at, batchRows: 500, batchBytes: 1_048_576 };
    await sealMessages(sealer, [auditMessage({ orgId, partnerId: uuidv7(), timestamp: timestampFromDate(at) })]);
  }
}

async function policy(orgId: string, days: number, archives = false, pending: [number, number] | null = null) {
  await database.db.tx(system, (tx) =>
    tx.execute(sql`
      INSERT INTO retention_policy (org_id, partner_id, retention_days, archive_to_s3, pending_retention_days, pending_from)
      VALUES (${orgId}, ${uuidv7()}, ${days}, ${archives}, ${pending?.[0] ?? null}::int,
              now() + ${pending?.[1] ?? null}::float8 * interval '1 hour')
      ON CONFLICT (org_id) DO UPDATE SET retention_days = excluded.retention_days, archive_to_s3 = excluded.archive_to_s3,
        pending_retention_days = excluded.pending_retention_days, pending_from = excluded.pending_from`),
  );
}

const seqsOf = async (chainId: string) =>
  (
    await database.db.read<{ seq: number }>(
      system,
      sql`SELECT seq FROM audit_log WHERE chain_id = ${chainId} ORDER BY seq`,
    )
  ).map(({ seq }) => seq);
type Receipt = { first_seq: number; last_seq: number; note: string; archive: Record<string, unknown> | null };
const receiptsOf = (chainId: string) =>
  database.db.read<Receipt>(
    system,
    sql`SELECT first_seq, last_seq, note, archive FROM prune_receipts WHERE chain_id = ${chainId} ORDER BY first_seq`,
  );
type Head = { seq: number; checksum: string; base_seq: number; base_checksum: string | null };
const headOf = async (chainId: string) =>
  (await database.db.read<Head>(system, sql`SELECT * FROM chain_head WHERE chain_id = ${chainId}`))[0] as Head;
const lastCleanup = async (chainId: string) =>
  (
    await database.db.read<{ last_cleanup_at: Date }>(
      system,
      sql`SELECT last_cleanup_at FROM chain_cleanup WHERE chain_id = ${chainId}`,
    )
  )[0]?.last_cleanup_at ?? null;

describe("a retention pass", () => {
  it("prunes the contiguous oldest prefix only, up to the first row inside the window", async () => {
    const chain = await chainOf(400, 390, 10, 380, 5);
    await pass();
    expect(await seqsOf(chain)).toEqual([3, 4, 5]);
    expect(await headOf(chain)).toMatchObject({ base_seq: 2, seq: 5 });
    expect(await lastCleanup(chain)).not.toBeNull();
  });

  it("does not change chains whose rows are all inside the window, and records that it checked them", async () => {
    const chain = await chainOf(364, 1);
    await pass();
    expect(await seqsOf(chain)).toEqual([1, 2]);
    expect(await receiptsOf(chain)).toEqual([]);
    expect(await lastCleanup(chain)).not.toBeNull();
  });

  it("keeps the rows of each organization for as long as its policy says", async () => {
    const [short, long] = [await chainOf(40, 20), await chainOf(500, 20)];
    await policy(short, 30);
    await policy(long, 3_650);
    await pass();
    expect([await seqsOf(short), await seqsOf(long)]).toEqual([[2], [1, 2]]);
  });

  it("lets a shorter retention wait for its time", async () => {
    const [waiting, due] = [await chainOf(40, 20), await chainOf(40, 20)];
    await policy(waiting, 365, false, [30, 0.5]);
    await policy(due, 365, false, [30, -0.5]);
    await pass();
    expect([await seqsOf(waiting), await seqsOf(due)]).toEqual([[1, 2], [2]]);
  });

  it("signs a contiguous receipt for each chunk, in the chain's own format", async () => {
    const chain = await chainOf(400, 399, 398, 397, 396, 1);
    await pass({ chunkRows: 2 });
    const receipts = await receiptsOf(chain);
    expect(receipts.map((r) => [r.first_seq, r.last_seq])).toEqual([
      [1, 2],
      [3, 4],
      [5, 5],
    ]);
    const reported = receipts.map(({ note }) => parseReceipt(openNote(note, keys.verifiers).text, "muster.local"));
    expect(reported.map((r) => [r?.chainId, r?.firstSeq, r?.lastSeq])).toEqual(
      receipts.map((r) => [chain, r.first_seq, r.last_seq]),
    );
    expect(reported.at(-1)?.lastChecksum).toBe((await headOf(chain)).base_checksum);
  });

  it("emits audit.retention.prune once for each chunk, with the transaction that deletes", async () => {
    const before = await outbox("audit");
    const chain = await chainOf(400, 399, 1);
    await pass({ chunkRows: 1 });
    expect((await outbox("audit")) - before).toBe(2);
    expect(await seqsOf(chain)).toEqual([3]);
  });

  it("leaves an emptied chain linked to its base", async () => {
    const chain = await chainOf(400, 399);
    const { checksum } = await headOf(chain);
    await pass();
    expect(await seqsOf(chain)).toEqual([]);
    expect(await headOf(chain)).toMatchObject({ seq: 2, base_seq: 2, base_checksum: checksum, checksum });
    await extend(chain, 0);
    const [row] = await database.db.read<{ seq: number; prev_checksum: string }>(
      system,
      sql`SELECT seq, prev_checksum FROM audit_log WHERE chain_id = ${chain}`,
    );
    expect(row).toEqual({ seq: 3, prev_checksum: checksum });
  });

  it("prunes the chains of partners and of the platform after the default, too", async () => {
    const partnerId = uuidv7();
    const at = new Date(Date.now() - 400 * dayMs);
    const sealer = { db: database.db, log, now: () => at, batchRows: 500, batchBytes: 1_048_576 };
    const timestamp = timestampFromDate(at);
    await sealMessages(sealer, [
      auditMessage({ partnerId, action: "partner.update", timestamp }),
      auditMessage({ action: "partner.update", timestamp }),
    ]);
    await pass();
    expect([await seqsOf(partnerId), await seqsOf(zeroUuid)]).toEqual([[], []]);
  });
});

const outbox = async (service: string) => {
  const [row] = await database.db.read<{ n: number }>(
    system,
    sql`SELECT count(*) AS n FROM outbox WHERE subject LIKE ${`audit.${service}.%`}`,
  );
  return Number(row?.n);
};

describe("archiving", () => {
  it("stores rows that can be verified separately, with a manifest whose digest the receipt carries", async () => {
    const chain = await chainOf(400, 399, 1);
    await policy(chain, 365, true);
    await pass();
    expect(await seqsOf(chain)).toEqual([3]);
    const [receipt] = await receiptsOf(chain);
    const { key, manifestKey, manifestSha256 } = (receipt?.archive ?? {}) as Record<string, string>;
    const archive = directoryArchive(directory);
    const manifest = (await archive.get(String(manifestKey))) as Buffer;
    expect(sha256(manifest)).toBe(manifestSha256);
    expect(parseReceipt(openNote(String(receipt?.note), keys.verifiers).text, null)?.archiveDigest).toBe(
      manifestSha256,
    );
    const object = (await archive.get(String(key))) as Buffer;
    const reported = JSON.parse(String(manifest));
    expect(reported).toMatchObject({
      chainId: chain,
      firstSeq: 1,
      lastSeq: 2,
      rows: 2,
      object: { sha256: sha256(object) },
    });
    const text = gunzipSync(object);
    expect(reported.content.sha256).toBe(sha256(text));
    const lines = String(text).trimEnd().split("\n").map(parseLine);
    for (const line of lines) {
      if (line.type !== "row") throw new Error("an archive holds rows");
      expect(checksumOf(line.entry, line.seq, line.prevChecksum, line.personalSalt)).toBe(line.checksum);
    }
    expect(lines).toHaveLength(2);
  });

  it("splits chunks that are too large, and continues with the rest", async () => {
    const chain = await chainOf(400, 399, 398, 1);
    await policy(chain, 365, true);
    await pass({ chunkBytes: 1 });
    expect((await receiptsOf(chain)).map((r) => [r.first_seq, r.last_seq])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
  });

  it("deletes nothing while the storage is unavailable, continues with other chains, and prunes when it is back", async () => {
    const server = await s3Server();
    const port = Number(new URL(String(server.options.endpoint)).port);
    const [archived, other] = [await chainOf(400, 1), await chainOf(400, 1)];
    await policy(archived, 365, true);
    await server.stop();
    const archive = s3Archive({ ...server.options, prefix: "" });
    expect((await pass({ archive }))?.blocked).toBe(1);
    expect([await seqsOf(archived), await seqsOf(other)]).toEqual([[1, 2], [2]]);
    expect([await receiptsOf(archived), await lastCleanup(archived)]).toEqual([[], null]);
    const again = await s3Server(port);
    expect((await pass({ archive }))?.blocked).toBe(0);
    expect(await seqsOf(archived)).toEqual([2]);
    await archive.close();
    await again.stop();
  });

  it("deletes nothing when the policy requires an archive and none is configured", async () => {
    const chain = await chainOf(400, 1);
    await policy(chain, 365, true);
    expect((await pass({ archive: null }))?.blocked).toBe(1);
    expect(await seqsOf(chain)).toEqual([1, 2]);
    await policy(chain, 365, false);
    await pass({ archive: null });
    expect(await seqsOf(chain)).toEqual([2]);
  });

  it("deletes nothing when the storage returns other bytes than were written", async () => {
    const chain = await chainOf(400, 1);
    await policy(chain, 365, true);
    const lossy: Archive = { ...directoryArchive(directory), get: async () => Buffer.from("else") };
    expect((await pass({ archive: lossy }))?.blocked).toBe(1);
    expect(await seqsOf(chain)).toEqual([1, 2]);
    await pass();
  });

  it("writes the same chunk again after it was stopped between archive and deletion", async () => {
    const chain = await chainOf(400, 399, 1);
    await policy(chain, 365, true);
    const archive = directoryArchive(directory);
    // Dies when everything is stored: the manifest is read back last.
    const dying: Archive = {
      ...archive,
      get: async (key) => {
        if (key.endsWith(".manifest.json")) throw new Error("killed");
        return archive.get(key);
      },
    };
    expect((await pass({ archive: dying }))?.blocked).toBe(1);
    expect(await seqsOf(chain)).toEqual([1, 2, 3]);
    const left = await readdir(join(directory, "rows", chain));
    // Meanwhile more rows have left the window.
    await policy(chain, 1, true);
    await pass();
    expect(await readdir(join(directory, "rows", chain))).toEqual(expect.arrayContaining(left));
    const receipts = await receiptsOf(chain);
    expect(receipts[0]).toMatchObject({ first_seq: 1, last_seq: 2 });
    expect(receipts.map((r) => r.first_seq)).toEqual([1, ...receipts.slice(0, -1).map((r) => r.last_seq + 1)]);
  });
});

describe("two workers", () => {
  it("run one at a time: one holds the lease, the other takes it when it was returned or has expired", async () => {
    const [a, b] = [retentionLease(pruner, "a", 60), retentionLease(pruner, "b", 60)];
    expect([await a.hold(), await b.hold(), await a.hold()]).toEqual([true, false, true]);
    await a.release();
    expect([await b.hold(), await a.hold()]).toEqual([true, false]);
    expect(await retentionLease(pruner, "b", 0).hold()).toBe(true);
    expect(await a.hold()).toBe(true);
    await a.release();
  });

  it("delete nothing twice, even with no lease between them", async () => {
    const chain = await chainOf(400, 399, 398, 397, 1);
    const before = await outbox("audit");
    await Promise.all([pass({ chunkRows: 1 }), pass({ chunkRows: 1 })]);
    await pass({ chunkRows: 1 });
    expect(await seqsOf(chain)).toEqual([5]);
    expect((await receiptsOf(chain)).map((r) => r.first_seq)).toEqual([1, 2, 3, 4]);
    expect((await outbox("audit")) - before).toBe(4);
  });
});

describe("the database", () => {
  const as = async (url: string, ...statements: string[]) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      await client.query("SELECT set_config('app.scope', 'system', false)");
      for (const statement of statements) await client.query(statement);
      return "done";
    } catch (error) {
      return (error as { code: string }).code;
    } finally {
      await client.end();
    }
  };
  let chain: string;
  let part: string;
  beforeAll(async () => {
    chain = await chainOf(400, 399, 1);
    const [row] = await database.db.read<{ part: string }>(
      system,
      sql`SELECT tableoid::regclass::text AS part FROM audit_log WHERE chain_id = ${chain} LIMIT 1`,
    );
    part = String(row?.part);
  });

  const attempts = (): [string, string][] => [
    ["delete rows", `DELETE FROM audit_log WHERE chain_id = '${chain}'`],
    ["delete rows of a partition", `DELETE FROM ${part} WHERE chain_id = '${chain}'`],
    ["change rows", `UPDATE audit_log SET action = 'x' WHERE chain_id = '${chain}'`],
    ["change rows of a partition", `UPDATE ${part} SET action = 'x' WHERE chain_id = '${chain}'`],
    ["empty the table", "TRUNCATE audit_log"],
    ["empty a partition", `TRUNCATE ${part}`],
    ["detach a partition", `ALTER TABLE audit_log DETACH PARTITION ${part}`],
    ["disable a trigger", `ALTER TABLE ${part} DISABLE TRIGGER ALL`],
    ["skip triggers", "SET session_replication_role = replica"],
    ["drop a policy", "DROP POLICY audit_log_read ON audit_log"],
    ["become the owner", "SET ROLE muster_audit_owner"],
    ["change a receipt", "UPDATE prune_receipts SET note = 'x'"],
    ["delete a receipt", "DELETE FROM prune_receipts"],
    [
      "move a base without a receipt",
      `UPDATE chain_head SET base_seq = 2, base_checksum = 'x' WHERE chain_id = '${chain}'`,
    ],
  ];

  it.each(Array.from({ length: 14 }, (_, n) => n))("refuses attempt %i of service and pruner", async (n) => {
    const [what, statement] = attempts()[n] as [string, string];
    for (const url of [database.appUrl, database.dutyUrl("pruner")]) {
      expect([what, await as(url, statement)]).toEqual([what, "42501"]);
    }
    expect(await seqsOf(chain)).toEqual([1, 2, 3]);
  });

  it("refuses the service to write receipts, and the pruner to write rows, move heads or become the service", async () => {
    const receipt = `INSERT INTO prune_receipts VALUES ('${chain}', null, null, 1, 1, 'x', now(), 'x', null)`;
    expect(await as(database.appUrl, receipt)).toBe("42501");
    const url = database.dutyUrl("pruner");
    for (const statement of [
      `INSERT INTO audit_log SELECT * FROM audit_log WHERE chain_id = '${chain}'`,
      `UPDATE chain_head SET seq = 9 WHERE chain_id = '${chain}'`,
      "INSERT INTO retention_policy (org_id, partner_id) VALUES (gen_random_uuid(), gen_random_uuid())",
      "SELECT * FROM outbox",
      "SET ROLE muster_audit_app",
    ]) {
      expect([statement, await as(url, statement)]).toEqual([statement, "42501"]);
    }
  });

  it("refuses rows before the base, and a receipt that does not end where its row says", async () => {
    const url = database.dutyUrl("pruner");
    const receipt = (last: number, checksum: string) =>
      `INSERT INTO prune_receipts VALUES ('${chain}', null, null, 1, ${last}, '${checksum}', now(), 'x', null)`;
    const base = (seq: number, checksum: string) =>
      `UPDATE chain_head SET base_seq = ${seq}, base_checksum = '${checksum}' WHERE chain_id = '${chain}'`;
    expect(await as(url, "BEGIN", receipt(1, "wrong"), base(1, "wrong"))).toBe("42501");
    const [row] = await database.db.read<{ checksum: string }>(
      system,
      sql`SELECT checksum FROM audit_log WHERE chain_id = ${chain} AND seq = 1`,
    );
    const sum = String(row?.checksum);
    const steps = ["BEGIN", receipt(1, sum), base(1, sum)];
    expect(await as(url, ...steps, `DELETE FROM audit_log WHERE chain_id = '${chain}' AND seq = 2`)).toBe("42501");
    expect(await as(url, ...steps, `DELETE FROM audit_log WHERE chain_id = '${chain}' AND seq = 1`, "ROLLBACK")).toBe(
      "done",
    );
  });

  it("lets the worker start as the pruner alone, and says what is too much", async () => {
    const path = new URL("../../migrations/", import.meta.url).pathname;
    const check = (url: string) =>
      checkSchema({
        url,
        service: "audit",
        dirs: [tenantMigrations, { label: "audit", path }],
        log,
        grants: prunerGrants,
        exact: true,
      });
    await check(database.dutyUrl("pruner"));
    await expect(check(database.appUrl)).rejects.toThrow(/may INSERT on table "audit_log", which is not its duty/);
    await expect(check(database.ownerUrl)).rejects.toThrow(/owner/);
    await expect(check(database.superuserUrl)).rejects.toThrow(/superuser/);
    await as(database.ownerUrl, "GRANT UPDATE ON audit_log TO muster_audit_pruner");
    await expect(check(database.dutyUrl("pruner"))).rejects.toThrow(/may UPDATE on table "audit_log"/);
    await as(database.ownerUrl, "REVOKE UPDATE ON audit_log FROM muster_audit_pruner");
  });
});
