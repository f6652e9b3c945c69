import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { openBus } from "@muster/bus";
import { sql, startRelay } from "@muster/db";
import { createLogger, generateNoteKey, noteKeys, openNote, uuidv7 } from "@muster/kit";
import { asOwner, callers, type TestDatabase, type TestNats, testNats, until } from "@muster/testing";
import { directoryArchive } from "../clients/archive/directory.ts";
import { checkpointsOutside } from "../clients/checkpoint-copies.ts";
import { sealMessages } from "../events/sealer.ts";
import { parseCheckpoint } from "../rules/checkpoint.ts";
import { leafHash, merkleRoot } from "../rules/merkle.ts";
import { isAnyDue, thinCheckpoints } from "../store/checkpoints.ts";
import { auditDatabase, auditMessage } from "../testing/audit.ts";
import { type CheckpointerDeps, checkpointRound, startCheckpointer } from "./checkpointer.ts";

const log = createLogger("audit-test", "fatal");
const { signer, verifiers } = noteKeys(generateNoteKey("test"));
const system = { caller: callers.service("audit") };

let database: TestDatabase;
let nats: TestNats;
let directory: string;
beforeAll(async () => {
  [database, nats] = await Promise.all([auditDatabase(), testNats()]);
  directory = await mkdtemp(join(tmpdir(), "muster-checkpoints-"));
});
afterAll(async () => {
  await database?.drop();
  await nats?.remove();
  if (directory) await rm(directory, { recursive: true, force: true });
});

const deps = (change: Partial<CheckpointerDeps> = {}): CheckpointerDeps => ({
  db: database.db,
  log,
  now: () => new Date(),
  signer,
  verifiers,
  outside: { isReady: () => true, newest: async () => null, keep: async () => {}, restores: async () => [] },
  deployment: "d",
  intervalSeconds: 1,
  rows: 1_000,
  anchorSeconds: 0,
  copies: null,
  lockDays: 0,
  ...change,
});

async function seal(orgId: string, count: number): Promise<void> {
  const partnerId = uuidv7();
  const messages = Array.from({ length: count }, () => auditMessage({ orgId, partnerId }));
  await sealMessages({ db: database.db, log, now: () => new Date(), batchRows: 500, batchBytes: 1 << 20 }, messages);
}

type Row = { seq: number; checksum: string; note: string; copied_at: Date | null };
const checkpointsOf = (chainId: string) =>
  database.db.read<Row>(
    system,
    sql`SELECT seq, checksum, note, copied_at FROM checkpoint WHERE chain_id = ${chainId} ORDER BY seq`,
  );

describe("the checkpointer", () => {
  it("signs each chain that moved, publishes it on the stream and copies it, with an anchor over all", async () => {
    const copies = directoryArchive(directory);
    const bus = await openBus({ servers: nats.url, seed: nats.seeds.audit, name: "audit", replicas: 1, log });
    await bus.ensureStream("CHECKPOINTS");
    const relay = startRelay({ db: database.db, transport: bus.transport, log, pollMs: 50 });
    const outside = checkpointsOutside({ bus: () => bus, objects: copies, log, now: () => new Date(), lockDays: 0 });
    const running = [startCheckpointer(deps({ copies, outside })), startCheckpointer(deps({ copies, outside }))];
    try {
      const [a, b] = [uuidv7(), uuidv7()];
      await seal(a, 3);
      await seal(b, 1);
      const seqsOf = async (chainId: string) =>
        (await outside.copies(chainId)).map((note) => parseCheckpoint(openNote(note, verifiers).text, "d")?.seq);
      await until(
        "both on the stream and copied",
        async () => (await seqsOf(a)).length === 2 && (await seqsOf(b)).length === 2,
      );
      await seal(a, 2);
      await until(
        "the newer one beside the older, which shows that a chain was truncated and went on",
        async () => (await seqsOf(a)).join() === "3,5,3,5",
      );
      const kept = await checkpointsOf(a);
      expect(kept.map(({ seq }) => seq)).toEqual([3, 5]);
      const [head] = await database.db.read<{ checksum: string }>(
        system,
        sql`SELECT checksum FROM chain_head WHERE chain_id = ${a}`,
      );
      const said = parseCheckpoint(openNote(kept[1]?.note ?? "", verifiers).text, "d");
      expect(said).toMatchObject({ chainId: a, seq: 5, head: head?.checksum });

      const anchor = await until("an anchor over all", async () => {
        const rows = await database.db.read<{ root: string; up_to: number; note: string; copied_at: Date | null }>(
          system,
          sql`SELECT * FROM anchor WHERE up_to >= (SELECT max(id) FROM checkpoint) AND copied_at IS NOT NULL ORDER BY id DESC`,
        );
        return rows[0];
      });
      const leaves = await database.db.read<{ note: string }>(
        system,
        sql`SELECT DISTINCT ON (chain_id) note FROM checkpoint ORDER BY chain_id, seq DESC`,
      );
      expect(anchor.root).toBe(merkleRoot(leaves.map(({ note }) => leafHash(note))).toString("hex"));
      expect(openNote(anchor.note, verifiers).text).toContain(`\n${leaves.length}\n${anchor.root}\n`);
    } finally {
      await Promise.all(running.map((each) => each.stop()));
      await relay.stop();
      await bus.close();
    }
  });

  it("only reads while nothing is due: its lease is written when a chain is", async () => {
    const leaseOf = async () => (await database.db.read(system, sql`SELECT * FROM checkpoint_lease`))[0];
    let reads = 0;
    const db: typeof database.db = {
      ...database.db,
      read(who, statement) {
        reads += 1;
        return database.db.read(who, statement);
      },
    };
    const running = startCheckpointer(deps({ db, intervalSeconds: 0.05 }));
    try {
      const isQuiet = async () =>
        !(await isAnyDue(database.db, 3_600, { ...deps({ intervalSeconds: 0 }), copies: false }));
      await until("everything to be signed", isQuiet);
      // What was running when that was read has ended some reads later.
      const under = reads;
      await until("some reads", () => reads >= under + 12);
      const [lease, seen] = [await leaseOf(), reads];
      await until("ten reads", () => reads >= seen + 10);
      expect(await leaseOf()).toEqual(lease);
      const orgId = uuidv7();
      await seal(orgId, 2);
      await until("its checkpoint", async () => (await checkpointsOf(orgId)).length === 1);
      expect(await leaseOf()).not.toEqual(lease);
    } finally {
      await running.stop();
    }
  });

  it("signs nothing without the lease, and not before a chain is due", async () => {
    const orgId = uuidv7();
    await seal(orgId, 3);
    const holder = uuidv7();
    await checkpointRound(deps(), holder, null);
    expect(await checkpointsOf(orgId)).toEqual([]);
    await asOwner(database, (client) =>
      client.query("UPDATE checkpoint_lease SET holder = $1, expires_at = now() + interval '1 hour'", [holder]),
    );
    await checkpointRound(deps({ intervalSeconds: 3_600, rows: 4 }), holder, null);
    expect((await checkpointsOf(orgId)).map(({ seq }) => seq)).toEqual([3]);
    await seal(orgId, 3);
    await checkpointRound(deps({ intervalSeconds: 3_600, rows: 4 }), holder, null);
    expect((await checkpointsOf(orgId)).map(({ seq }) => seq)).toEqual([3]);
    await seal(orgId, 1);
    await checkpointRound(deps({ intervalSeconds: 3_600, rows: 4 }), holder, null);
    expect((await checkpointsOf(orgId)).map(({ seq }) => seq)).toEqual([3, 7]);
  });

  it("thins old checkpoints to those that an anchor covers, and the newest", async () => {
    const orgId = uuidv7();
    await asOwner(database, async (client) => {
      await client.query("DELETE FROM anchor");
      for (let seq = 1; seq <= 6; seq++) {
        await client.query(
          `INSERT INTO checkpoint (chain_id, seq, checksum, note, created_at) VALUES ($1, $2, 'c', 'n', now() - interval '8 days')`,
          [orgId, seq],
        );
        if (seq === 3) {
          await client.query(
            "INSERT INTO anchor (up_to, chains, root, note, created_at) SELECT max(id), 1, 'r', 'n', now() FROM checkpoint",
          );
        }
      }
    });
    expect(await thinCheckpoints(database.db, 100)).toBe(4);
    expect((await checkpointsOf(orgId)).map(({ seq }) => seq)).toEqual([3, 6]);
  });
});
