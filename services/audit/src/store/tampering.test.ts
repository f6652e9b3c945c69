import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { jobs, openDatabase } from "@muster/db";
import { createLogger, generateNoteKey, noteKeys, uuidv7 } from "@muster/kit";
import { ExportFormat, ExportService } from "@muster/proto/muster/audit/v1/export_pb";
import { AuditProofService } from "@muster/proto/muster/audit/v1/proof_pb";
import { register } from "@muster/rpc";
import { asOwner, callers, type TestDatabase, type TestPort, testPort } from "@muster/testing";
import { sealMessages } from "../events/sealer.ts";
import { checkpointRound } from "../jobs/checkpointer.ts";
import { retentionPass } from "../jobs/retention.ts";
import { runVerification } from "../jobs/verifier.ts";
import { exportVerifier } from "../offline/verify-export.ts";
import { exportService } from "../rpc/export.ts";
import { auditProofService } from "../rpc/proof.ts";
import { foundChecksum } from "../rules/seal.ts";
import { verifyKind } from "../rules/verification-job.ts";
import { auditDatabase, auditMessage, readerOf } from "../testing/audit.ts";
import { readChain } from "./chain-rows.ts";
import { takeLease } from "./checkpoints.ts";

// The changes that the tables' owner can make to a chain, and their findings: by the API and offline.

const log = createLogger("audit-test", "fatal");
const { signer, verifiers } = noteKeys(generateNoteKey("test"));
const trust = { verifiers, deployment: "d" };
const partnerId = uuidv7();
const holder = uuidv7();

let database: TestDatabase;
let port: TestPort;
/** Checkpoints as the stream and the archive still have them. */
const outsideNotes = new Map<string, string[]>();
const copies = async (chainId: string) => outsideNotes.get(chainId) ?? [];

beforeAll(async () => {
  database = await auditDatabase();
  const service = auditProofService({ ...readerOf(database), verifiers, queued: () => {} });
  // Copies count when they are older than the export by more than clocks may differ.
  const now = () => new Date(Date.now() + 60_000);
  const exports = exportService({
    ...readerOf(database),
    exportConcurrency: 2,
    deployment: "d",
    signer,
    verifiers,
    now,
    copies,
  });
  port = await testPort("audit", [register(AuditProofService, service), register(ExportService, exports)]);
  await owner(
    Array.from(
      { length: 16 },
      (_, n) => `ALTER TABLE audit_log_${String(n).padStart(2, "0")} DISABLE TRIGGER ALL;`,
    ).join(""),
  );
  await owner("ALTER TABLE chain_head DISABLE TRIGGER ALL; ALTER TABLE prune_receipts DISABLE TRIGGER ALL");
});
afterAll(async () => {
  await port?.close();
  await database?.drop();
});

const owner = (text: string) => asOwner(database, (client) => client.query(text));

async function seal(orgId: string, count: number): Promise<void> {
  const deps = { db: database.db, log, now: () => new Date(), batchRows: 500, batchBytes: 1_048_576 };
  const full = { actorName: "Ada", actorRole: "admin", actorDepartment: "IT", sessionId: uuidv7(), resourceName: "N" };
  const rest = { userAgent: "agent", errorMessage: "none", partnerId, orgId };
  await sealMessages(
    deps,
    Array.from({ length: count }, () => auditMessage({ ...full, ...rest })),
  );
}

async function checkpoint(key = signer): Promise<void> {
  const outside = { isReady: () => true, newest: async () => null, keep: async () => {}, restores: async () => [] };
  const facts = { intervalSeconds: 0, rows: 1, anchorSeconds: 3_600, copies: null, lockDays: 0 };
  const deps = {
    db: database.db,
    log,
    now: () => new Date(),
    signer: key,
    verifiers,
    outside,
    deployment: "d",
    ...facts,
  };
  await takeLease(database.db, holder);
  await checkpointRound(deps, holder, null);
}

/** A chain of 12 rows with checkpoints at 5 and 9. */
async function chain(): Promise<string> {
  const orgId = uuidv7();
  await seal(orgId, 5);
  await checkpoint();
  await seal(orgId, 4);
  await checkpoint();
  await seal(orgId, 3);
  return orgId;
}

type Shown = {
  format?: unknown;
  verdict: string;
  seq?: unknown;
  lastSeq?: unknown;
  expected?: unknown;
  have?: unknown;
  rows?: unknown;
};

function short({ verdict: name, seq, lastSeq, expected, have, rows, format }: Shown): string {
  const verdict = format === undefined ? name : `${name}(${format})`;
  if (verdict === "OK" || verdict === "UNPROTECTED_TAIL") return `${verdict} ${rows}`;
  if (expected !== undefined) return `${verdict} ${expected} ${have}`;
  if (seq === undefined) return verdict;
  return lastSeq === undefined ? `${verdict} ${seq}` : `${verdict} ${seq}-${lastSeq}`;
}

async function byApi(orgId: string, from?: number): Promise<string[]> {
  const client = port.client(AuditProofService, callers.partnerAdmin(partnerId));
  const { verification } = await client.startVerification({ orgId, from: BigInt(from ?? 0) });
  const job = await jobs(database.db).claim({ kinds: [verifyKind] });
  if (job?.id !== verification?.id || !job) throw new Error("another verification is queued");
  await runVerification({ db: database.db, log, trust, copies }, job, new AbortController().signal);
  const done = await client.getVerification({ id: job.id });
  expect(done.verification?.status).toBe("done");
  return (done.verification?.verdicts ?? []).map(short);
}

/** The export of a chain, as lines. */
async function exported(orgId: string): Promise<string[]> {
  const client = port.client(ExportService, callers.partnerAdmin(partnerId, { permissions: ["audit:export"] }));
  let text = "";
  for await (const { part } of client.exportLogs({ format: ExportFormat.JSONL, filter: { orgId } })) {
    if (part.case === "chunk") text += Buffer.from(part.value).toString();
  }
  return text.split(/(?<=\n)/);
}

function offline(lines: readonly string[]): { chain: string[]; file: string[] } {
  const verifier = exportVerifier({ keys: [signer.text], deployment: "d" });
  for (const line of lines) verifier.line(line.slice(0, -1));
  const report = verifier.end();
  return { chain: report.chains.flatMap(({ findings }) => findings.map(short)), file: report.file.map(short) };
}

/** Both must report a finding that `wanted` matches, and none that `never` matches. */
async function expectBoth(orgId: string, wanted: RegExp, never = /^(OK|FILE_CHANGED)/): Promise<void> {
  for (const [by, found] of [
    ["api", await byApi(orgId)],
    ["offline", offline(await exported(orgId)).chain],
  ] as const) {
    expect({ by, found, has: found.some((text) => wanted.test(text)) }).toEqual({ by, found, has: true });
    expect({ by, not: found.filter((text) => never.test(text)) }).toEqual({ by, not: [] });
  }
}

const everyColumn = [
  "seq",
  "id",
  "org_id",
  "partner_id",
  "timestamp",
  "actor_type",
  "actor_id",
  "actor_email",
  "actor_name",
  "actor_role",
  "actor_department",
  "session_id",
  "action",
  "resource_type",
  "resource_id",
  "resource_name",
  "details",
  "ip_address",
  "user_agent",
  "result",
  "error_message",
  "targets",
  "format",
  "personal_salt",
  "personal_digest",
  "checksum",
  "prev_checksum",
];

/** One byte more or less, by the column's type; null becomes something. */
function flipped(column: string): string {
  const uuid = (name: string) =>
    `(CASE right(${name}::text, 1) WHEN '0' THEN left(${name}::text, 35) || '1' ELSE left(${name}::text, 35) || '0' END)::uuid`;
  switch (column) {
    case "seq":
      return "seq + 1000";
    case "id":
    case "org_id":
    case "partner_id":
    case "actor_id":
    case "session_id":
    case "resource_id":
      return uuid(column);
    case "timestamp":
      return "timestamp + interval '1 millisecond'";
    case "actor_type":
      return "'agent'";
    case "result":
      return "'denied'";
    case "targets":
      return `'[{"type": "user", "id": "7", "name": null}]'`;
    case "details":
      return `jsonb_set(details, '{changes,after,n}', '1.51')`;
    case "format":
      return "3";
    case "personal_salt":
      return "set_byte(personal_salt, 3, get_byte(personal_salt, 3) # 1)";
    case "personal_digest":
      return "sha256('x')";
    case "checksum":
    case "prev_checksum":
      return `overlay(${column} placing (CASE substr(${column}, 7, 1) WHEN '0' THEN '1' ELSE '0' END) from 7 for 1)`;
    default:
      return `overlay(${column} placing (CASE left(${column}, 1) WHEN 'x' THEN 'y' ELSE 'x' END) from 1 for 1)`;
  }
}

describe("a clean chain", () => {
  it("verifies, from its beginning and from the middle", async () => {
    const orgId = await chain();
    expect(await byApi(orgId)).toEqual(["OK 12", "UNPROTECTED_TAIL 3"]);
    expect(await byApi(orgId, 7)).toEqual(["OK 6", "UNPROTECTED_TAIL 3"]);
    expect([await byApi(orgId, 13), await byApi(orgId, 1_000)]).toEqual([["OK 0"], ["OK 0"]]);
    expect(offline(await exported(orgId))).toEqual({ chain: ["OK 12", "UNPROTECTED_TAIL 3"], file: [] });
  });

  it("verifies when it has no rows yet", async () => {
    const orgId = uuidv7();
    await owner(
      `INSERT INTO chain_head (chain_id, org_id, partner_id) VALUES ('${orgId}', '${orgId}', '${partnerId}')`,
    );
    expect(await byApi(orgId)).toEqual(["OK 0"]);
  });

  it("verifies after the retention worker pruned its beginning", async () => {
    const orgId = uuidv7();
    const old = new Date(Date.now() - 400 * 86_400_000);
    const deps = { db: database.db, log, now: () => old, batchRows: 500, batchBytes: 1_048_576 };
    const aged = () => auditMessage({ orgId, partnerId, timestamp: timestampFromDate(old) });
    await sealMessages(deps, Array.from({ length: 4 }, aged));
    await checkpoint();
    await seal(orgId, 5);
    await checkpoint();
    await seal(orgId, 3);
    const pruner = openDatabase({ url: database.dutyUrl("pruner"), max: 2, name: "audit-retention", log });
    try {
      const lease = { hold: async () => true, release: async () => undefined };
      const sizes = { defaultDays: 365, chunkRows: 3, chunkBytes: 16_777_216, chainsPerRead: 500 };
      const duty = { db: pruner, archive: null, lease, signer, deployment: "d", log, ...sizes };
      await retentionPass(duty, new AbortController().signal);
    } finally {
      await pruner.close();
    }
    const wanted = ["OK 8", "PRUNED_PREFIX 1-4", "UNPROTECTED_TAIL 3"];
    expect((await byApi(orgId)).sort()).toEqual(wanted);
    const found = offline(await exported(orgId));
    expect({ ...found, chain: found.chain.sort() }).toEqual({ chain: wanted, file: [] });
  });

  it("verifies after its checkpoints' key was rotated", async () => {
    const orgId = uuidv7();
    const rotated = noteKeys(`${generateNoteKey("test-2")},${signer.text}`);
    await seal(orgId, 3);
    await checkpoint();
    await seal(orgId, 3);
    await checkpoint(rotated.signer);
    await chainVerifiesUnder(orgId, rotated.verifiers, ["OK 6"]);
    // Without the old key its checkpoints cannot be verified.
    await chainVerifiesUnder(orgId, [rotated.signer], ["BAD_SIGNATURE 3"]);
  });

  async function chainVerifiesUnder(orgId: string, trusted: typeof verifiers, wanted: string[]): Promise<void> {
    const work = jobs(database.db);
    const input = { chainId: orgId, orgId, partnerId, from: null };
    await work.enqueue({ kind: verifyKind, input });
    const job = await work.claim({ kinds: [verifyKind] });
    if (!job) throw new Error("nothing to do");
    const deps = { db: database.db, log, trust: { verifiers: trusted, deployment: "d" }, copies };
    await runVerification(deps, job, new AbortController().signal);
    const done = await work.get(job.id);
    expect((done?.result as { verdicts: Shown[] } | null)?.verdicts.map(short)).toEqual(wanted);
  }
});

describe("a row that the owner changed", () => {
  it("has every column in this matrix", async () => {
    const { rows } = await owner(
      "SELECT column_name FROM information_schema.columns WHERE table_name = 'audit_log' AND column_name <> 'chain_id'",
    );
    expect(rows.map((row: { column_name: string }) => row.column_name).sort()).toEqual([...everyColumn].sort());
  });

  it.each(everyColumn)("is ALTERED by a byte of %s, or of an unknown format", async (column) => {
    const orgId = await chain();
    await owner(`UPDATE audit_log SET ${column} = ${flipped(column)} WHERE chain_id = '${orgId}' AND seq = 6`);
    // Row-level security excludes another partner's row from this one's export.
    const wanted: Record<string, RegExp> = {
      seq: /^ALTERED 1006$/,
      partner_id: /^(ALTERED|DELETED) 6$/,
      format: /^UNKNOWN_FORMAT\(3\) 6$/,
    };
    const never = column === "partner_id" ? /^(OK|INSERTED|FORK)/ : /^(OK|DELETED|INSERTED|FORK|CHECKPOINT|HEAD)/;
    await expectBoth(orgId, wanted[column] ?? /^ALTERED 6$/, never);
  });

  it("is DELETED here and INSERTED there by its chain_id", async () => {
    const [orgId, other] = [await chain(), await chain()];
    await owner(`UPDATE audit_log SET chain_id = '${other}', seq = 13 WHERE chain_id = '${orgId}' AND seq = 6`);
    await expectBoth(orgId, /^DELETED 6$/);
    await expectBoth(other, /^INSERTED 13$/);
  });

  it("is ALTERED when it was swapped with another", async () => {
    const orgId = await chain();
    await owner(
      `UPDATE audit_log SET seq = -1 WHERE chain_id = '${orgId}' AND seq = 4;
       UPDATE audit_log SET seq = 4 WHERE chain_id = '${orgId}' AND seq = 7;
       UPDATE audit_log SET seq = 7 WHERE chain_id = '${orgId}' AND seq = -1`,
    );
    await expectBoth(orgId, /^ALTERED 4$/, /^(OK|DELETED|INSERTED|FORK|HEAD)/);
    await expectBoth(orgId, /^ALTERED 7$/);
  });

  it("is REORDERED or ALTERED when it was renumbered", async () => {
    const orgId = await chain();
    await owner(
      `UPDATE audit_log SET seq = seq + 100 WHERE chain_id = '${orgId}' AND seq > 8;
       UPDATE audit_log SET seq = seq - 98 WHERE chain_id = '${orgId}' AND seq > 100`,
    );
    await expectBoth(orgId, /^(REORDERED|ALTERED) 11(-14)?$/);
  });
});

describe("rows that the owner removed", () => {
  it.each([
    ["seq = 6", /^DELETED 6$/],
    ["seq BETWEEN 6 AND 8", /^DELETED 6-8$/],
    ["seq <= 3", /^DELETED 1-3$/],
    ["true", /^TRUNCATED 12 0$/],
  ])("are DELETED (%s)", async (which, wanted) => {
    const orgId = await chain();
    await owner(`DELETE FROM audit_log WHERE chain_id = '${orgId}' AND ${which}`);
    await expectBoth(orgId, wanted);
  });

  it("are a PRUNED_PREFIX without its receipt when the base was moved along", async () => {
    const orgId = await chain();
    await owner(
      `UPDATE chain_head SET base_seq = 3, base_checksum = (SELECT checksum FROM audit_log WHERE chain_id = '${orgId}' AND seq = 3)
         WHERE chain_id = '${orgId}';
       DELETE FROM audit_log WHERE chain_id = '${orgId}' AND seq <= 3`,
    );
    await expectBoth(orgId, /^PRUNED_PREFIX 1-3$/);
  });

  it("are TRUNCATED below the last checkpoint, whatever the head says", async () => {
    const orgId = await chain();
    await truncate(orgId, 7);
    await expectBoth(orgId, /^TRUNCATED 9 7$/);
  });

  it("are a HEAD_MISMATCH above it", async () => {
    const orgId = await chain();
    await owner(`DELETE FROM audit_log WHERE chain_id = '${orgId}' AND seq > 10`);
    await expectBoth(orgId, /^HEAD_MISMATCH 12 10$/);
  });

  it("are TRUNCATED when an older state was restored, checkpoints and all", async () => {
    const orgId = await chain();
    const { rows } = await owner(`SELECT note FROM checkpoint WHERE chain_id = '${orgId}' AND seq = 9`);
    outsideNotes.set(orgId, [rows[0].note]);
    await truncate(orgId, 6);
    await owner(`DELETE FROM checkpoint WHERE chain_id = '${orgId}' AND seq > 6`);
    await expectBoth(orgId, /^TRUNCATED 9 6$/);
    // And went on from there, and was signed again.
    await seal(orgId, 6);
    await checkpoint();
    const { rows: newer } = await owner(`SELECT note FROM checkpoint WHERE chain_id = '${orgId}' AND seq = 12`);
    outsideNotes.get(orgId)?.push(newer[0].note);
    await expectBoth(orgId, /^CHECKPOINT_MISMATCH 9$/);
  });

  async function truncate(orgId: string, last: number): Promise<void> {
    await owner(
      `DELETE FROM audit_log WHERE chain_id = '${orgId}' AND seq > ${last};
       UPDATE chain_head SET seq = ${last}, checksum = (SELECT checksum FROM audit_log WHERE chain_id = '${orgId}' AND seq = ${last})
         WHERE chain_id = '${orgId}'`,
    );
  }
});

describe("rows that the owner added", () => {
  const columns =
    "id, org_id, partner_id, timestamp, actor_type, actor_id, actor_email, actor_name, actor_role, actor_department, session_id, action, resource_type, resource_id, resource_name, details, ip_address, user_agent, result, error_message, format, personal_salt";

  /** Writes the checksum that a row of this content would have. */
  async function reseal(orgId: string, seq: number, prev: number): Promise<void> {
    const { rows } = await readChain(database.db, { caller: callers.service("audit") }, orgId, null, 1_000);
    const row = rows.find((each) => each.seq === seq);
    const link = rows.find((each) => each.seq === prev)?.checksum ?? null;
    if (!row) throw new Error("no such row");
    await owner(
      `UPDATE audit_log SET prev_checksum = '${link}', checksum = '${foundChecksum(row, seq, link)}'
       WHERE chain_id = '${orgId}' AND seq = ${seq}`,
    );
  }

  const copy = (from: string, fromSeq: number, to: string, seq: number) =>
    owner(
      `INSERT INTO audit_log (chain_id, seq, checksum, prev_checksum, ${columns})
       SELECT '${to}', ${seq}, checksum, prev_checksum, ${columns.replace("id, org_id", `gen_random_uuid(), '${to}'`)}
       FROM audit_log WHERE chain_id = '${from}' AND seq = ${fromSeq}`,
    );

  it("are INSERTED when copied from another chain, at its end or beyond", async () => {
    const [orgId, other] = [await chain(), await chain()];
    await copy(other, 7, orgId, 13);
    await expectBoth(orgId, /^INSERTED 13$/);
    await copy(other, 8, orgId, 99);
    await expectBoth(orgId, /^INSERTED 99$/);
  });

  it("are INSERTED when copied from another chain and the head moved along", async () => {
    const [orgId, other] = [await chain(), await chain()];
    await copy(other, 7, orgId, 13);
    await owner(
      `UPDATE chain_head SET seq = 13, checksum = (SELECT checksum FROM audit_log WHERE chain_id = '${orgId}' AND seq = 13)
       WHERE chain_id = '${orgId}'`,
    );
    await expectBoth(orgId, /^INSERTED 13$/);
  });

  it("are INSERTED with a recomputed checksum at the end", async () => {
    const orgId = await chain();
    await copy(orgId, 12, orgId, 13);
    await reseal(orgId, 13, 12);
    await expectBoth(orgId, /^INSERTED 13$/);
  });

  it("are INSERTED with a recomputed checksum in between", async () => {
    const orgId = await chain();
    await owner(
      `UPDATE audit_log SET seq = seq + 100 WHERE chain_id = '${orgId}' AND seq > 6;
       UPDATE audit_log SET seq = seq - 99 WHERE chain_id = '${orgId}' AND seq > 100`,
    );
    await copy(orgId, 6, orgId, 7);
    await reseal(orgId, 7, 6);
    await expectBoth(orgId, /^INSERTED 7$/);
  });

  it("are a FORK with a recomputed checksum instead of another row", async () => {
    const orgId = await chain();
    await owner(`UPDATE audit_log SET action = 'site.delete' WHERE chain_id = '${orgId}' AND seq = 7`);
    await reseal(orgId, 7, 6);
    await expectBoth(orgId, /^FORK 7$/);
  });

  it("are a CHECKPOINT_MISMATCH when the whole chain was rebuilt without the key", async () => {
    const orgId = await chain();
    await owner(`UPDATE audit_log SET actor_email = 'eve@example.com' WHERE chain_id = '${orgId}' AND seq = 2`);
    for (let seq = 2; seq <= 12; seq++) await reseal(orgId, seq, seq - 1);
    await owner(
      `UPDATE chain_head SET checksum = (SELECT checksum FROM audit_log WHERE chain_id = '${orgId}' AND seq = 12)
       WHERE chain_id = '${orgId}'`,
    );
    await expectBoth(orgId, /^CHECKPOINT_MISMATCH 9$/, /^(OK|ALTERED|FORK)/);
    // And checkpoints of a key of their own.
    const forger = noteKeys(generateNoteKey("test")).signer;
    await owner(`DELETE FROM checkpoint WHERE chain_id = '${orgId}'`);
    await checkpoint(forger);
    await expectBoth(orgId, /^BAD_SIGNATURE/);
  });
});

describe("heads and checkpoints that the owner changed", () => {
  it.each([
    ["set back", "UPDATE chain_head SET seq = 6, checksum = repeat('a', 64) WHERE chain_id = "],
    ["removed", "DELETE FROM chain_head WHERE chain_id = "],
  ])("stop no sealing and still show (head %s)", async (_name, change) => {
    const orgId = await chain();
    await owner(`${change}'${orgId}'`);
    await seal(orgId, 2);
    await seal(orgId, 1);
    const { rows } = await owner(`SELECT seq FROM audit_log WHERE chain_id = '${orgId}' ORDER BY seq`);
    expect(rows.map(({ seq }: { seq: unknown }) => Number(seq))).toEqual(Array.from({ length: 15 }, (_, n) => n + 1));
    await expectBoth(orgId, /^FORK 12$/);
  });

  it("do not stop sealing after a row that was inserted beyond the head, and are reported", async () => {
    const orgId = await chain();
    await owner(`UPDATE audit_log SET seq = 13 WHERE chain_id = '${orgId}' AND seq = 7`);
    await seal(orgId, 2);
    const { rows } = await owner(`SELECT max(seq) AS seq FROM audit_log WHERE chain_id = '${orgId}'`);
    expect(Number(rows[0].seq)).toBe(15);
    await expectBoth(orgId, /^(ALTERED|INSERTED|FORK) 13$/);
  });

  it.each([
    ["seq = 10", /^HEAD_MISMATCH|^INSERTED 11-12$/],
    ["seq = 14", /^HEAD_MISMATCH 14 12$/],
    ["checksum = repeat('a', 64)", /^HEAD_MISMATCH 12$/],
    ["base_seq = 4", /^(HEAD_MISMATCH|PRUNED_PREFIX|INSERTED)/],
  ])("show (chain_head: %s)", async (change, wanted) => {
    const orgId = await chain();
    await owner(`UPDATE chain_head SET ${change} WHERE chain_id = '${orgId}'`);
    const found = await byApi(orgId);
    expect({ found, has: found.some((text) => wanted.test(text)) }).toEqual({ found, has: true });
  });

  it.each(["note = replace(note, 'audit/', 'audit/0')", "note = 'x'", "seq = 8"])(
    "show (checkpoint: %s)",
    async (change) => {
      const orgId = await chain();
      await owner(`UPDATE checkpoint SET ${change} WHERE chain_id = '${orgId}' AND seq = 9`);
      const found = await byApi(orgId);
      expect(found.some((text) => text.startsWith("BAD_SIGNATURE"))).toBe(true);
    },
  );
});

describe("a modified export", () => {
  const isSixth = (line: string) => line.includes('"seq":6,');
  const edits: [string, (lines: string[]) => string[], RegExp][] = [
    [
      "a byte of a row",
      (lines) => lines.map((line) => (isSixth(line) ? line.replace("site.create", "site.creatE") : line)),
      /^ALTERED 6$/,
    ],
    ["a row removed", (lines) => lines.filter((line) => !isSixth(line)), /^DELETED 6$/],
    ["a row twice", (lines) => lines.flatMap((line) => (isSixth(line) ? [line, line] : [line])), /^INSERTED 6$/],
    [
      "the last rows removed",
      (lines) => lines.filter((line) => !/"type":"row".*"seq":(7|8|9|1\d),/.test(line)),
      /^TRUNCATED|^HEAD_MISMATCH/,
    ],
    [
      "rows called a selection",
      (lines) => lines.filter((line) => !isSixth(line)).map((line) => line.replace(/"from":1/, '"from":null')),
      /^FILE_CHANGED/,
    ],
    ["no end", (lines) => lines.slice(0, -1), /^FILE_CHANGED/],
    ["no chain line", (lines) => lines.filter((line) => !line.includes('"type":"chain"')), /^FILE_CHANGED/],
    ["nonsense in between", (lines) => ["nonsense\n", ...lines], /^FILE_CHANGED/],
    ["another key", (lines) => lines.map((line) => line.replace("— test ", "— test2 ")), /^BAD_SIGNATURE/],
  ];
  it.each(edits)("shows: %s", async (_name, edit, wanted) => {
    const { chain: chainFindings, file } = offline(edit(await exported(await chain())));
    const found = [...chainFindings, ...file];
    expect({ found, has: found.some((text) => wanted.test(text)) }).toEqual({ found, has: true });
  });
});
