import { fromBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { jobs, sql } from "@muster/db";
import { type Caller, createLogger, generateNoteKey, noteKeys, systemCaller, uuidv7 } from "@muster/kit";
import { ExportJobService } from "@muster/proto/muster/audit/v1/export_job_pb";
import { ExportFormat } from "@muster/proto/muster/audit/v1/export_pb";
import { AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { register, toAppError } from "@muster/rpc";
import { callers, type TestDatabase, type TestPort, testPort } from "@muster/testing";
import { sealMessages } from "../events/sealer.ts";
import { runExport } from "../jobs/exporter.ts";
import { exportKind } from "../rules/export-job.ts";
import { auditDatabase, auditMessage, readerOf } from "../testing/audit.ts";
import { exportJobService } from "./export-job.ts";

let database: TestDatabase;
let port: TestPort;
const system = { caller: systemCaller("audit") };
const log = createLogger("test", "fatal");
const times = { ms: Date.now() };

beforeAll(async () => {
  database = await auditDatabase();
  const deps = { ...readerOf(database), now: () => new Date(times.ms), exportsPerChain: 2, queued: () => undefined };
  port = await testPort("audit", [register(ExportJobService, exportJobService(deps))]);
});
afterAll(async () => {
  await port?.close();
  await database?.drop();
});

async function organization() {
  const [partnerId, orgId] = [uuidv7(), uuidv7()];
  const sealer = { db: database.db, log, now: () => new Date(), batchRows: 500, batchBytes: 1_048_576 };
  await sealMessages(sealer, [auditMessage({ orgId, partnerId }), auditMessage({ orgId, partnerId })]);
  return { partnerId, orgId, admin: callers.orgAdmin(partnerId, orgId, { permissions: ["audit:export"] }) };
}
const as = (caller: Caller) => port.client(ExportJobService, caller);
const start = (caller: Caller, filter: object = {}) => as(caller).startExport({ format: ExportFormat.JSONL, filter });
async function read(caller: Caller, id: string, part: number): Promise<number> {
  let bytes = 0;
  for await (const { chunk } of as(caller).readExport({ id, part })) bytes += chunk.length;
  return bytes;
}
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => "answered",
    (error: unknown) => toAppError(error).code,
  );
async function work(id: string): Promise<void> {
  const deps = { db: database.db, log, deployment: "muster.local", ...noteKeys(generateNoteKey("muster.local")) };
  for (;;) {
    const job = await jobs(database.db).claim({ kinds: [exportKind], staleMs: 0 });
    if (!job) throw new Error("no export waits");
    const signal = new AbortController().signal;
    await runExport({ ...deps, now: () => new Date(), copies: async () => [] }, job, signal);
    if (job.id === id) return;
  }
}
const audited = async (id: string) =>
  (await database.db.read<{ body: Buffer }>(system, sql`SELECT body FROM outbox ORDER BY id`))
    .map(({ body }) => fromBinary(AuditEventSchema, body))
    .filter(({ resourceId }) => resourceId === id)
    .map(({ action, detailsJson }) => [action, JSON.parse(detailsJson).operation]);

describe("an export in parts", () => {
  it("is queued, read, deleted, and each of it is audited", async () => {
    const { admin, orgId } = await organization();
    const { export: made } = await start(admin, { action: "site" });
    const id = made?.id ?? "";
    expect(made).toMatchObject({ status: "queued", orgId, filterJson: '{"action":"site"}', createdBy: admin.actor.id });
    expect(await refusal(read(admin, id, 0))).toBe("audit_export_not_ready");
    await work(id);
    expect((await as(admin).getExport({ id })).export).toMatchObject({ status: "done", rows: 2n, parts: 1 });
    expect(await read(admin, id, 0)).toBeGreaterThan(100);
    expect(await read(admin, id, 1)).toBeGreaterThan(100);
    expect(await refusal(read(admin, id, 2))).toBe("audit_export_not_found");
    expect((await as(admin).listExports({})).exports.map((each) => each.id)).toEqual([id]);
    await as(admin).deleteExport({ id });
    expect(await refusal(as(admin).getExport({ id }))).toBe("audit_export_not_found");
    expect(await audited(id)).toEqual([
      ["data.export", "start"],
      ["data.export", "download"],
      ["data.export", "download"],
      ["audit.export.delete", undefined],
    ]);
  });

  it("expires a week after its end", async () => {
    const { admin } = await organization();
    const id = (await start(admin)).export?.id ?? "";
    await work(id);
    times.ms += 8 * 86_400_000;
    try {
      expect((await as(admin).getExport({ id })).export?.status).toBe("expired");
    } finally {
      times.ms -= 8 * 86_400_000;
    }
  });

  it("does not exist for callers who do not read its chain", async () => {
    const { admin, orgId, partnerId } = await organization();
    const id = (await start(admin)).export?.id ?? "";
    const permissions = ["audit:export"];
    const outsider = callers.orgAdmin(uuidv7(), uuidv7(), { permissions });
    const sibling = callers.partnerWithList(partnerId, [], { permissions });
    for (const caller of [outsider, sibling]) {
      expect(await refusal(as(caller).getExport({ id }))).toBe("audit_export_not_found");
      expect(await refusal(read(caller, id, 0))).toBe("audit_export_not_found");
      expect(await refusal(as(caller).deleteExport({ id }))).toBe("audit_export_not_found");
      expect((await as(caller).listExports({})).exports).toEqual([]);
      expect(await refusal(start(caller, { orgId }))).toBe("organization_not_found");
    }
    const limited = { ...admin, siteIds: [uuidv7()] };
    expect(await refusal(as(limited).getExport({ id }))).toBe("site_restricted");
    expect(await refusal(start({ ...admin, permissions: ["audit:read"] }))).toBe("permission_denied");
    expect((await as(callers.partnerAdmin(partnerId, { permissions })).getExport({ id })).export?.id).toBe(id);
  });

  it("is one of a limited number that a chain has open or kept", async () => {
    const { admin } = await organization();
    const id = (await start(admin)).export?.id ?? "";
    await start(admin);
    expect(await refusal(start(admin))).toBe("limit_reached");
    await as(admin).deleteExport({ id });
    expect(await refusal(start(admin))).toBe("answered");
  });

  it.each<[string, object, string]>([
    ["csv", { format: ExportFormat.CSV, filter: {} }, "validation_failed"],
    ["no filter", { format: ExportFormat.JSONL }, "validation_failed"],
    ["a malformed organization", { format: ExportFormat.JSONL, filter: { orgId: "7" } }, "validation_failed"],
    ["an unknown result", { format: ExportFormat.JSONL, filter: { result: "ok" } }, "validation_failed"],
  ])("is refused with %s", async (_, request, code) => {
    const { admin } = await organization();
    expect(await refusal(as(admin).startExport(request))).toBe(code);
  });
});
