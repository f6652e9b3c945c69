import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { jobs } from "@muster/db";
import { createLogger, generateNoteKey, noteKeys, uuidv7 } from "@muster/kit";
import { asOwner, type TestDatabase, until } from "@muster/testing";
import { sealMessages } from "../events/sealer.ts";
import { type VerifyResult, verifyKind } from "../rules/verification-job.ts";
import type { VerifyCursor } from "../store/verify-chain.ts";
import { auditDatabase, auditMessage } from "../testing/audit.ts";
import { runVerification, startVerifier } from "./verifier.ts";

const log = createLogger("audit-test", "fatal");
const { verifiers } = noteKeys(generateNoteKey("test"));
const [orgId, partnerId] = [uuidv7(), uuidv7()];
const count = 5_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await auditDatabase();
  await seal(count);
}, 60_000);
afterAll(() => database?.drop());

async function seal(rows: number): Promise<void> {
  const deps = { db: database.db, log, now: () => new Date(), batchRows: 500, batchBytes: 1 << 20 };
  for (let n = 0; n < rows; n += 1_000) {
    await sealMessages(
      deps,
      Array.from({ length: Math.min(1_000, rows - n) }, () => auditMessage({ orgId, partnerId })),
    );
  }
}

const deps = () => ({
  db: database.db,
  log,
  trust: { verifiers, deployment: "d" },
  copies: async () => [],
  pollMs: 20,
  staleMs: 100,
});
const queue = () =>
  jobs(database.db).enqueue({ kind: verifyKind, input: { chainId: orgId, orgId, partnerId, from: null } });

async function resultOf(id: string): Promise<VerifyResult> {
  const job = await until(
    "the verification",
    async () => {
      // A busy machine may have no connection in time; the next poll will.
      const found = await jobs(database.db)
        .get(id)
        .catch(() => null);
      return found?.state === "done" ? found : null;
    },
    60_000,
  );
  return job.result as VerifyResult;
}

/** The database, noting after which row each page of the chain was read. */
function watched(reads: number[]): TestDatabase["db"] {
  const read: TestDatabase["db"]["read"] = (who, statement) => {
    const { text, values } = statement as { text: string; values: readonly unknown[] };
    if (text.includes("FROM audit_log l")) reads.push(Number(values[1]));
    return database.db.read(who, statement);
  };
  return { ...database.db, read };
}

describe("a verification", () => {
  it("continues in another process from its last saved page, with the result of an uninterrupted one", async () => {
    await asOwner(database, (client) =>
      client.query(
        "ALTER TABLE audit_log DISABLE TRIGGER ALL; DO $$ BEGIN FOR n IN 0..15 LOOP EXECUTE format('ALTER TABLE audit_log_%s DISABLE TRIGGER ALL', lpad(n::text, 2, '0')); END LOOP; END $$",
      ),
    );
    await asOwner(database, (client) =>
      client.query("UPDATE audit_log SET action = 'x' WHERE chain_id = $1 AND seq IN (7, 4001)", [orgId]),
    );
    await asOwner(database, (client) =>
      client.query("DELETE FROM audit_log WHERE chain_id = $1 AND seq IN (2000, 2001)", [orgId]),
    );

    const id = await queue();
    const work = jobs(database.db);
    const first = await work.claim({ kinds: [verifyKind] });
    if (!first) throw new Error("nothing was queued");
    // Stopped: it saves after its page and leaves the rest.
    const stop = new AbortController();
    stop.abort();
    await runVerification(deps(), first, stop.signal);
    const left = await work.get(id);
    expect([left?.state, (left?.cursor as VerifyCursor | null)?.v.rows]).toEqual(["running", 1_999]);

    const verifier = startVerifier(deps());
    try {
      const result = await resultOf(id);
      const found = result.verdicts.map(({ verdict, seq, lastSeq }) => [verdict, seq, lastSeq]);
      expect(found).toEqual([
        ["ALTERED", 7, undefined],
        ["ALTERED", 4_001, undefined],
        ["DELETED", 2_000, 2_001],
        ["UNPROTECTED_TAIL", undefined, undefined],
      ]);
      expect(result.rows).toBe(count - 2);
      // The process that lost its job cannot write any more.
      await expect(work.finish(first)).rejects.toThrow("taken over");
      const whole = await resultOf(await queue());
      expect(whole).toEqual(result);
    } finally {
      await verifier.stop();
    }
  }, 60_000);

  it("continues where a process that was killed −9 had saved it, with the result of an uninterrupted one", async () => {
    const id = await queue();
    const slow = spawn(
      process.execPath,
      [fileURLToPath(new URL("../testing/slow-verifier.mjs", import.meta.url)), database.appUrl],
      {
        stdio: ["ignore", "inherit", "inherit"],
      },
    );
    const ended = once(slow, "exit");
    const saved = await until(
      "a saved position",
      async () => {
        const job = await jobs(database.db).get(id);
        if (job?.state === "done") throw new Error("it was done before it could be killed");
        return (job?.cursor as VerifyCursor | null)?.v.rows;
      },
      60_000,
    );
    slow.kill("SIGKILL");
    await ended;
    expect(saved).toBeGreaterThan(0);
    const reads: number[] = [];
    const verifier = startVerifier({ ...deps(), db: watched(reads) });
    try {
      const result = await resultOf(id);
      expect((await jobs(database.db).get(id))?.attempts).toBe(2);
      // From the saved position on: what was verified before is not read again.
      expect(Math.min(...reads)).toBeGreaterThanOrEqual(saved);
      expect(await resultOf(await queue())).toEqual(result);
    } finally {
      await verifier.stop();
    }
  }, 120_000);

  it("includes rows sealed meanwhile", async () => {
    const other = uuidv7();
    const sealing = { db: database.db, log, now: () => new Date(), batchRows: 500, batchBytes: 1 << 20 };
    const batch = () => Array.from({ length: 500 }, () => auditMessage({ orgId: other, partnerId }));
    await sealMessages(sealing, batch());
    let going = true;
    const writer = (async () => {
      while (going) await sealMessages(sealing, batch());
    })();
    const verifier = startVerifier(deps());
    try {
      for (let n = 0; n < 3; n++) {
        const id = await jobs(database.db).enqueue({
          kind: verifyKind,
          input: { chainId: other, orgId: other, partnerId, from: null },
        });
        expect((await resultOf(id)).verdicts.map(({ verdict }) => verdict)).toEqual(["OK", "UNPROTECTED_TAIL"]);
      }
    } finally {
      going = false;
      await writer;
      await verifier.stop();
    }
  }, 60_000);
});
