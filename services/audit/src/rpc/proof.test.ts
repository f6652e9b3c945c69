import { fromBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { jobs, sql } from "@muster/db";
import { type Caller, createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { AuditProofService } from "@muster/proto/muster/audit/v1/proof_pb";
import { AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { register, toAppError } from "@muster/rpc";
import { callers, type TestDatabase, type TestPort, testPort } from "@muster/testing";
import { sealMessages } from "../events/sealer.ts";
import { runVerification } from "../jobs/verifier.ts";
import { verifyKind } from "../rules/verification-job.ts";
import { auditDatabase, auditMessage, readerOf } from "../testing/audit.ts";
import { auditProofService } from "./proof.ts";

const log = createLogger("proof-test", "fatal");
const system = { caller: systemCaller("audit") };
let database: TestDatabase;
let port: TestPort;
beforeAll(async () => {
  database = await auditDatabase();
  const deps = { ...readerOf(database), verifiers: [], queued: () => undefined };
  port = await testPort("audit", [register(AuditProofService, auditProofService(deps))]);
});
afterAll(async () => {
  await port?.close();
  await database?.drop();
});

async function organization(partnerId = uuidv7(), rows = 1) {
  const orgId = uuidv7();
  const sealer = { db: database.db, log, now: () => new Date(), batchRows: 500, batchBytes: 1 << 20 };
  const messages = Array.from({ length: rows }, () => auditMessage({ partnerId, orgId }));
  await sealMessages(sealer, messages);
  const admin: Caller = { ...callers.orgAdmin(partnerId, orgId), permissions: ["audit:read"] };
  return { partnerId, orgId, verify: (from: number) => startOf(admin, from), admin };
}

const startOf = (caller: Caller, from: number): Promise<string> =>
  port
    .client(AuditProofService, caller)
    .startVerification({ from: BigInt(from) })
    .then(
      ({ verification }) => verification?.id ?? "nothing",
      (error: unknown) => toAppError(error).code,
    );

const openOf = (orgId: string) =>
  database.db.read<{ state: string }>(
    system,
    sql`SELECT state FROM job WHERE input->>'chainId' = ${orgId} AND state IN ('queued', 'running') ORDER BY id`,
  );

async function claimed() {
  const job = await jobs(database.db).claim({ kinds: [verifyKind] });
  if (!job) throw new Error("nothing waits");
  return job;
}
const chainOf = (job: { input: unknown }) => (job.input as { chainId: string }).chainId;
const finishAll = async () => {
  for (let job = await jobs(database.db).claim({ kinds: [verifyKind] }); job; ) {
    await jobs(database.db).finish(job);
    job = await jobs(database.db).claim({ kinds: [verifyKind] });
  }
};

describe("a requested verification", () => {
  it("joins the open one of the same rows, also for twenty concurrent callers; each request is audited", async () => {
    const { orgId, verify } = await organization();
    const ids = await Promise.all(Array.from({ length: 20 }, () => verify(1)));
    expect(new Set(ids).size).toBe(1);
    expect(await openOf(orgId)).toHaveLength(1);
    const running = await claimed();
    expect(await verify(1)).toBe(running.id);
    await jobs(database.db).finish(running);
    expect(await verify(1)).not.toBe(running.id);
    const rows = await database.db.read<{ body: Buffer }>(system, sql`SELECT body FROM outbox`);
    const events = rows.map(({ body }) => fromBinary(AuditEventSchema, body)).filter((event) => event.orgId === orgId);
    expect(events.map(({ action }) => action)).toEqual(Array.from({ length: 22 }, () => "data.access"));
    await finishAll();
  });

  it("waits with at most one other of its organization; a third one is refused until one of them runs", async () => {
    const { orgId, verify } = await organization();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => verify(n + 1)));
    expect(answers.filter((answer) => answer === "limit_reached")).toHaveLength(18);
    expect(await openOf(orgId)).toHaveLength(2);
    const running = await claimed();
    expect(await verify(100)).not.toBe("limit_reached");
    expect(await verify(101)).toBe("limit_reached");
    expect((await openOf(orgId)).map(({ state }) => state).sort()).toEqual(["queued", "queued", "running"]);
    await jobs(database.db).finish(running);
    await finishAll();
  });

  it("precedes the second one of a partner whose many organizations requested earlier", async () => {
    const partnerId = uuidv7();
    const many = await Promise.all(Array.from({ length: 5 }, () => organization(partnerId)));
    for (const { verify } of many) for (const from of [1, 2]) await verify(from);
    const { orgId, verify } = await organization();
    await jobs(database.db).finish(await claimed());
    await verify(1);
    expect(chainOf(await claimed())).toBe(orgId);
    await finishAll();
  });

  it("yields to one of another tenant while its own chain is long, and continues afterwards", async () => {
    const deps = {
      db: database.db,
      log,
      trust: { verifiers: [], deployment: "d" },
      copies: async () => [],
      saveMs: 0,
    };
    const long = await organization(uuidv7(), 5_000);
    const short = await organization();
    const [first, second] = [await long.verify(1), await short.verify(1)];
    const { signal } = new AbortController();
    await runVerification(deps, await claimed(), signal);
    const left = await jobs(database.db).get(first);
    expect([left?.state, left?.cursor !== null]).toEqual(["running", true]);
    const next = await claimed();
    expect(next.id).toBe(second);
    await runVerification(deps, next, signal);
    await runVerification(deps, await claimed(), signal);
    expect([(await jobs(database.db).get(first))?.state, (await jobs(database.db).get(second))?.state]).toEqual([
      "done",
      "done",
    ]);
  });
});

describe("the list of verifications", () => {
  const listed = async (caller: Caller, wanted: { orgId?: string; status?: string; page?: object } = {}) => {
    const reply = await port.client(AuditProofService, caller).listVerifications(wanted);
    return { ids: reply.verifications.map(({ id }) => id), page: reply.page };
  };
  const partnerOf = (partnerId: string, orgIds: string[] | null): Caller =>
    orgIds === null ? callers.partnerAdmin(partnerId) : callers.partnerWithList(partnerId, orgIds);

  it("shows those of chains in scope, newest first, page by page, and starts none", async () => {
    const partnerId = uuidv7();
    const [one, two, other] = [await organization(partnerId), await organization(partnerId), await organization()];
    const first = await one.verify(1);
    await finishAll();
    const [second, third, foreign] = [await one.verify(2), await two.verify(1), await other.verify(1)];
    expect((await listed(one.admin)).ids).toEqual([second, first]);
    expect((await listed(partnerOf(partnerId, null))).ids).toEqual([third, second, first]);
    expect((await listed(partnerOf(partnerId, [two.orgId]))).ids).toEqual([third]);
    expect((await listed(partnerOf(partnerId, null), { orgId: one.orgId })).ids).toEqual([second, first]);
    expect((await listed(one.admin, { status: "done" })).ids).toEqual([first]);
    expect((await listed(other.admin)).ids).toEqual([foreign]);
    await expect(listed(other.admin, { orgId: one.orgId })).rejects.toMatchObject({
      message: expect.stringContaining("Organization not found"),
    });
    const page = await listed(partnerOf(partnerId, null), { page: { page: 1, limit: 2 } });
    expect([page.ids, page.page?.total]).toEqual([[third, second], 3n]);
    const rest = await listed(partnerOf(partnerId, null), { page: { limit: 2, cursor: page.page?.nextCursor ?? "" } });
    expect([rest.ids, rest.page?.nextCursor]).toEqual([[first], ""]);
    await finishAll();
  });

  it("hides a deleted organization's from its partner; the system sees it", async () => {
    const gone = await organization();
    const id = await gone.verify(1);
    await finishAll();
    const at = new Date();
    await database.db.tx(system, (tx) =>
      tx.execute(sql`
        INSERT INTO tenant (kind, id, partner_id, org_id, status, deleted, version, updated_at)
        VALUES ('organization', ${gone.orgId}, ${gone.partnerId}, ${gone.orgId}, 'active', true, 1, ${at})
        ON CONFLICT (kind, id) DO UPDATE SET deleted = true`),
    );
    expect((await listed(partnerOf(gone.partnerId, null))).ids).toEqual([]);
    expect((await listed(callers.platformAdmin())).ids).toContain(id);
  });
});
