import { fromBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, createLogger, generateNoteKey, noteKeys, openNote, systemCaller, uuidv7 } from "@muster/kit";
import { ExportFormat, ExportService } from "@muster/proto/muster/audit/v1/export_pb";
import { AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { register, toAppError } from "@muster/rpc";
import { asOwner, callers, type TestDatabase, type TestPort, testPort } from "@muster/testing";
import { sealMessages } from "../events/sealer.ts";
import { exportVerifier } from "../offline/verify-export.ts";
import { sha256 } from "../rules/archive-chunk.ts";
import { parseExportText, parseLine } from "../rules/export-line.ts";
import { checksumOf } from "../rules/seal.ts";
import { auditDatabase, auditMessage, readerOf } from "../testing/audit.ts";
import { exportService } from "./export.ts";

let database: TestDatabase;
let port: TestPort;
const keys = noteKeys(generateNoteKey("muster.local"));
const system = { caller: systemCaller("audit") };

beforeAll(async () => {
  database = await auditDatabase();
  const deps = {
    ...readerOf(database),
    exportConcurrency: 2,
    deployment: "muster.local",
    ...keys,
    now: () => new Date(),
    copies: async () => [],
  };
  port = await testPort("audit", [register(ExportService, exportService(deps))]);
});
afterAll(async () => {
  await port?.close();
  await database?.drop();
});

type Change = NonNullable<Parameters<typeof auditMessage>[0]>;
async function seal(...changes: Change[]): Promise<void> {
  const sealer = {
    db: database.db,
    log: createLogger("test", "fatal"),
    now: () => new Date(),
    batchRows: 500,
    batchBytes: 1,
  };
  for (let at = 0; at < changes.length; at += 500) {
    await sealMessages(
      sealer,
      changes.slice(at, at + 500).map((change) => auditMessage(change)),
    );
  }
}

const permissions = ["audit:read", "audit:export"];
const hourAgo = Date.now() - 3_600_000;
/** An organization whose rows are a second apart, oldest first. */
async function organization(count: number, change: (n: number) => Change = () => ({})) {
  const [partnerId, orgId] = [uuidv7(), uuidv7()];
  const rows = Array.from({ length: count }, (_, n) => ({
    partnerId,
    orgId,
    timestamp: timestampFromDate(new Date(hourAgo + n * 100)),
    resourceName: `row ${n + 1}`,
    ...change(n),
  }));
  await seal(...rows);
  return { partnerId, orgId, admin: callers.orgAdmin(partnerId, orgId, { permissions }) };
}

type Filter = Record<string, unknown>;
async function file(caller: Caller, format: "CSV" | "JSONL", filter: Filter = {}) {
  let head: { rows: number; truncated: boolean } | null = null;
  let text = "";
  for await (const { part } of port
    .client(ExportService, caller)
    .exportLogs({ format: ExportFormat[format], filter })) {
    if (part.case === "head") head = part.value;
    else if (part.case === "chunk") text += Buffer.from(part.value).toString();
  }
  return { head, text };
}
const linesOf = (text: string) => text.trimEnd().split("\n").map(parseLine);
function verdictsOf(lines: readonly string[]): string[] {
  const verifier = exportVerifier({ keys: [keys.signer.text], deployment: "muster.local" });
  for (const line of lines) verifier.line(line);
  const { file: about, chains } = verifier.end();
  return [...about, ...chains.flatMap(({ findings }) => findings)].map(({ verdict, seq }) =>
    verdict === "DELETED" ? `${verdict} ${seq}` : verdict,
  );
}
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => "answered",
    (error: unknown) => toAppError(error).code,
  );
const exports = async (orgId: string) =>
  (await database.db.read<{ body: Buffer }>(system, sql`SELECT body FROM outbox ORDER BY id`))
    .map(({ body }) => fromBinary(AuditEventSchema, body))
    .filter((event) => event.orgId === orgId && event.action === "data.export");

describe("an export", () => {
  it("contains the rows of a list, newest first, in the caller's tenant only", async () => {
    const { orgId, partnerId, admin } = await organization(250);
    await organization(3);
    const { head, text } = await file(admin, "JSONL");
    expect(head).toMatchObject({ rows: 250, truncated: false });
    const rows = linesOf(text).filter((line) => line.type === "row");
    expect(rows.map((line) => line.type === "row" && line.seq)).toEqual(Array.from({ length: 250 }, (_, n) => 250 - n));
    expect(new Set(rows.map((line) => line.type === "row" && line.entry.orgId))).toEqual(new Set([orgId]));
    const foreign = callers.orgAdmin(partnerId, uuidv7(), { permissions });
    expect((await file(foreign, "JSONL")).head).toMatchObject({ rows: 0 });
    expect(await refusal(file(foreign, "JSONL", { orgId }))).toBe("organization_not_found");
  });

  it.each([
    [{ action: "site.delete" }, 2],
    [{ query: "row 9" }, 1],
    [{ user: "ada@", action: "site.delete" }, 2],
    [{ excludeActions: ["site.delete"] }, 8],
    [{ from: timestampFromDate(new Date(hourAgo + 500)) }, 5],
    [{ query: "nowhere" }, 0],
  ])("accepts the filters of lists: %j", async (filter, rows) => {
    const { admin } = await organization(10, (n) => (n % 5 === 0 ? { action: "site.delete" } : {}));
    expect((await file(admin, "CSV", filter)).head).toMatchObject({ rows, truncated: false });
  });

  it("contains 10,000 rows and states that it was truncated", async () => {
    const { admin, orgId } = await organization(10_001);
    const whole = await file(admin, "CSV");
    expect(whole.head).toMatchObject({ rows: 10_000, truncated: true });
    const names = whole.text.trimEnd().split("\r\n").slice(1);
    expect(names).toHaveLength(10_000);
    expect([names[0], names.at(-1)].map((line) => /row \d+/.exec(String(line))?.[0])).toEqual(["row 10001", "row 2"]);
    expect((await file(admin, "CSV", { query: "row" })).head).toMatchObject({ rows: 10_000, truncated: true });
    expect((await exports(orgId)).map(({ detailsJson }) => JSON.parse(detailsJson))).toEqual([
      { format: "csv", rows: 10_000, truncated: true, filter: {} },
      { format: "csv", rows: 10_000, truncated: true, filter: { query: "row" } },
    ]);
  });

  it("is an audit row of its own, with its filters and the caller", async () => {
    const { admin, orgId, partnerId } = await organization(2);
    await file(admin, "JSONL", { action: "site" });
    const [event, ...more] = await exports(orgId);
    expect(more).toEqual([]);
    expect(event).toMatchObject({ actorId: admin.actor.id, partnerId, result: "success", resourceId: orgId });
  });

  it("is refused without the permission, without a format, and to users limited to some sites", async () => {
    const { admin, orgId } = await organization(1);
    const without = { ...admin, permissions: admin.permissions.filter((p) => p !== "audit:export") };
    expect(await refusal(file(without, "CSV"))).toBe("permission_denied");
    expect(await refusal(file({ ...admin, siteIds: [uuidv7()] }, "CSV"))).toBe("site_restricted");
    const client = port.client(ExportService, admin);
    const unspecified = async () => {
      for await (const _ of client.exportLogs({ filter: {} })) break;
    };
    expect(await refusal(unspecified())).toBe("validation_failed");
    expect(await exports(orgId)).toEqual([]);
  });
});

describe("a CSV export", () => {
  it("runs nothing in a spreadsheet, and preserves quoted text", async () => {
    const resourceName = '=HYPERLINK("http://x","a,b")\n@x';
    const { admin } = await organization(1, () => ({ resourceName, userAgent: "+1-2" }));
    const { text } = await file(admin, "CSV");
    const [header = "", ...rest] = text.split("\r\n");
    expect(header.split(",").slice(0, 3)).toEqual(["id", "orgId", "timestamp"]);
    expect(rest.join("\r\n")).toContain(`"'${resourceName.replaceAll('"', '""')}"`);
    expect(rest.join("\r\n")).toContain(`"'+1-2"`);
  });
});

describe("a JSONL export", () => {
  it("can be verified offline: checksums, links, head and a signed digest of everything before it", async () => {
    const { admin, orgId } = await organization(20);
    const { text } = await file(admin, "JSONL");
    const lines = linesOf(text);
    const rows = lines.flatMap((line) => (line.type === "row" ? [line] : [])).reverse();
    let link: string | null = null;
    for (const row of rows) {
      expect(row.prevChecksum).toBe(link);
      expect(checksumOf(row.entry, row.seq, row.prevChecksum, row.personalSalt)).toBe(row.checksum);
      link = row.checksum;
    }
    const [chain, end] = lines.slice(-2);
    expect(chain).toMatchObject({
      type: "chain",
      chainId: orgId,
      headSeq: 20,
      headChecksum: link,
      from: 1,
      receipts: [],
    });
    if (end?.type !== "end" || !end.note) throw new Error("no end");
    const said = parseExportText(openNote(end.note, keys.verifiers).text, "muster.local");
    expect(said).toMatchObject({ rows: 20, sha256: sha256(Buffer.from(text.slice(0, text.indexOf('{"type":"end"')))) });
  });

  it("marks a selection, whose missing rows are no loss", async () => {
    const { admin } = await organization(6, (n) => (n % 2 === 0 ? { action: "site.delete" } : {}));
    const chain = linesOf((await file(admin, "JSONL", { action: "site.delete" })).text).find((l) => l.type === "chain");
    expect(chain).toMatchObject({ from: null, headSeq: 6 });
  });

  it.each([
    ["its action", { action: "site.delete" }],
    ["its time", { from: timestampFromDate(new Date(hourAgo + 350)) }],
  ])("is a selection, too, when the chain's newest row is chosen by %s", async (_name, filter) => {
    const { admin } = await organization(6, (n) => (n % 2 === 1 ? { action: "site.delete" } : {}));
    const lines = (await file(admin, "JSONL", filter)).text.trimEnd().split("\n");
    expect(lines.map(parseLine).find((l) => l.type === "chain")).toMatchObject({ from: null, headSeq: 6 });
    expect(verdictsOf(lines)).toEqual(["OK"]);
  });

  it("states which rows a chain should have, whatever rows exist", async () => {
    const { admin, orgId } = await organization(6);
    const remove = (seq: string) =>
      asOwner(database, async (client) => {
        const { rows } = await client.query("SELECT tableoid::regclass AS name FROM audit_log WHERE chain_id = $1", [
          orgId,
        ]);
        await client.query(`ALTER TABLE ${rows[0].name} DISABLE TRIGGER ALL`);
        await client.query(`DELETE FROM audit_log WHERE chain_id = $1 AND seq ${seq}`, [orgId]);
      });
    const verdicts = async () => verdictsOf((await file(admin, "JSONL")).text.trimEnd().split("\n"));
    await remove("= 3");
    expect(await verdicts()).toEqual(["DELETED 3", "UNPROTECTED_TAIL"]);
    await remove("= 6");
    expect(await verdicts()).toEqual(["HEAD_MISMATCH", "DELETED 3", "UNPROTECTED_TAIL"]);
    await remove("< 6");
    expect(await verdicts()).toEqual(["HEAD_MISMATCH"]);
  });

  it("verifies from its beginning when it was truncated, and shows rows missing since", async () => {
    // Rows go by time, and the first one's is the newest.
    const { admin } = await organization(10_003, (n) =>
      n === 0 ? { timestamp: timestampFromDate(new Date(hourAgo + 3_000_000)) } : {},
    );
    const lines = (await file(admin, "JSONL")).text.trimEnd().split("\n");
    expect(lines.map(parseLine).find((line) => line.type === "chain")).toMatchObject({ from: 5, headSeq: 10_003 });
    expect(verdictsOf(lines)).toEqual(["OK", "UNPROTECTED_TAIL"]);
    const without = (seq: number) => verdictsOf(lines.filter((line) => !line.includes(`"seq":${seq},`)));
    expect(without(77)).toEqual(expect.arrayContaining(["DELETED 77", "FILE_CHANGED"]));
  }, 240_000);
});

describe("a reader", () => {
  it("who disconnects ends the reading, and a slow one delays it: rows are read on demand", async () => {
    const { admin, orgId } = await organization(3_000, () => ({
      detailsJson: JSON.stringify({ text: "x".repeat(4_000) }),
    }));
    const before = await reads();
    const parts = port.client(ExportService, admin).exportLogs({ format: ExportFormat.JSONL, filter: { orgId } });
    const reader = parts[Symbol.asyncIterator]();
    await reader.next();
    await reader.next();
    const early = await quiet(reads);
    // 12 MB are to be sent; what is read ahead is what buffers of the connection hold.
    expect(early - before).toBeLessThan(25);
    await reader.return?.();
    expect((await quiet(reads)) - early).toBeLessThan(5);
  });
});

/** Reads of rows so far, as this process counts its transactions. */
async function reads(): Promise<number> {
  const { register: metrics } = await import("prom-client");
  const { values } = (await metrics.getSingleMetric("muster_db_transaction_duration_seconds")?.get()) ?? { values: [] };
  const name = "muster_db_transaction_duration_seconds_count";
  return values.filter((v) => "metricName" in v && v.metricName === name).reduce((sum, { value }) => sum + value, 0);
}

/** What a number is once it no longer changes. */
async function quiet(read: () => Promise<number>): Promise<number> {
  for (let last = -1; ; ) {
    const now = await read();
    if (now === last) return now;
    last = now;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}
