import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { openDatabase } from "@muster/db";
import { createLogger, uuidv7 } from "@muster/kit";
import { ReportKind, type ReportResponse, ReportService } from "@muster/proto/muster/audit/v1/report_pb";
import { register, toAppError } from "@muster/rpc";
import { callers, type TestDatabase, type TestPort, testPort } from "@muster/testing";
import { sealMessages } from "../events/sealer.ts";
import { categories } from "../rules/category.ts";
import { complianceActions, securityActions } from "../rules/reported-actions.ts";
import { auditDatabase, auditMessage, readerOf } from "../testing/audit.ts";
import { reportService } from "./report.ts";

let database: TestDatabase;
let port: TestPort;
let hurried: TestPort;
beforeAll(async () => {
  database = await auditDatabase();
  const serve = (reportBudgetMs: number) =>
    testPort("audit", [
      register(
        ReportService,
        reportService({ ...readerOf(database), reportBudgetMs, reportConcurrency: 2, now: () => new Date() }),
      ),
    ]);
  port = await serve(2_000);
  hurried = await serve(0);
});
afterAll(async () => {
  await port?.close();
  await hurried?.close();
  await database?.drop();
});

type Change = NonNullable<Parameters<typeof auditMessage>[0]>;
const log = createLogger("test", "fatal");
/** Seals events, each as the service that may emit its action. */
async function seal(...changes: (Change & { by?: string })[]): Promise<void> {
  const sealer = { db: database.db, log, now: () => new Date(), batchRows: 500, batchBytes: 1 };
  await sealMessages(
    sealer,
    changes.map(({ by = "tenancy", ...change }) => auditMessage(change, by)),
  );
}

const day = (n: number) => timestampFromDate(new Date(Date.UTC(2026, 0, 1) + today - n * 86_400_000));
const today = Math.floor((Date.now() - Date.UTC(2026, 0, 1)) / 86_400_000) * 86_400_000 + 3_600_000;
const [ada, bob] = [uuidv7(), uuidv7()];

async function fleet() {
  const [partnerId, orgId, otherOrgId] = [uuidv7(), uuidv7(), uuidv7()];
  const own = { partnerId, orgId };
  const login = { ...own, by: "identity", action: "user.login", actorId: ada, actorEmail: "ada@example.com" };
  await seal(
    { ...login, timestamp: day(3) },
    { ...login, timestamp: day(3), result: "failure", errorMessage: "wrong" },
    { ...login, timestamp: day(2), actorEmail: "ada@new.example.com" },
    { ...own, action: "device.create", timestamp: day(2), actorId: bob, actorEmail: "bob@example.com" },
    { ...own, action: "site.create", timestamp: day(1), result: "denied", actorId: bob, actorEmail: "bob@example.com" },
    { ...own, action: "organization.update", timestamp: day(20), actorId: bob, actorEmail: "bob@example.com" },
    { partnerId, orgId: otherOrgId, action: "device.create", timestamp: day(2) },
  );
  return {
    partnerId,
    orgId,
    otherOrgId,
    admin: callers.orgAdmin(partnerId, orgId),
    partner: callers.partnerAdmin(partnerId),
  };
}
const plain = (counts: { total: bigint; success: bigint; failure: bigint; denied: bigint } | undefined) =>
  [counts?.total, counts?.success, counts?.failure, counts?.denied].map(Number);
const totals = (reply: ReportResponse) =>
  Object.fromEntries(reply.actions.filter((a) => a.counts?.total).map((a) => [a.action, Number(a.counts?.total)]));
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => "answered",
    (error: unknown) => toAppError(error).code,
  );
const lately = { from: day(10) };

describe("a report", () => {
  it("without an end ends where a read replica does, and a later end is read at the primary", async () => {
    const { admin } = await fleet();
    // It holds what was there between the rows of three and of two days ago; nothing stands at its address.
    const asOf = timestampDate(day(2.5));
    const away = openDatabase({ url: "postgres://nobody@127.0.0.1:1/none", max: 1, name: "replica", log });
    const unavailable = await testPort("audit", [
      register(
        ReportService,
        reportService({
          ...readerOf(database),
          longReads: { pick: () => ({ db: away, asOf }) },
          reportBudgetMs: 2_000,
          reportConcurrency: 2,
          now: () => new Date(),
        }),
      ),
    ]);
    const client = unavailable.client(ReportService, admin);
    const until = await client.report({ kind: ReportKind.CATEGORIES, ...lately, to: timestampFromDate(new Date()) });
    expect(plain(until.counts)).toEqual([5, 3, 1, 1]);
    expect(await refusal(client.report({ kind: ReportKind.CATEGORIES, ...lately }))).toBe("unavailable");
    await unavailable.close();
    await away.close();

    const held = await testPort("audit", [
      register(
        ReportService,
        reportService({
          ...readerOf(database),
          longReads: { pick: () => ({ db: database.db, asOf }) },
          reportBudgetMs: 2_000,
          reportConcurrency: 2,
          now: () => new Date(),
        }),
      ),
    ]);
    const reply = await held.client(ReportService, admin).report({ kind: ReportKind.CATEGORIES, ...lately });
    expect(reply.to && timestampDate(reply.to)).toEqual(asOf);
    expect(plain(reply.counts)).toEqual([2, 1, 1, 0]);
    await held.close();
  });

  it("counts by result, category, action and day, every category among them", async () => {
    const { admin } = await fleet();
    const reply = await port.client(ReportService, admin).report({ kind: ReportKind.CATEGORIES, ...lately });
    expect(plain(reply.counts)).toEqual([5, 3, 1, 1]);
    expect(reply.categories.map(({ category }) => category)).toEqual([...categories]);
    const counted = Object.fromEntries(
      reply.categories.map(({ category, counts }) => [category, Number(counts?.total)]),
    );
    expect(counted).toMatchObject({ authentication: 3, device: 1, system: 1, organization: 0 });
    expect(totals(reply)).toEqual({ "user.login": 3, "device.create": 1, "site.create": 1 });
    expect(reply.days.map(({ counts }) => Number(counts?.total))).toEqual([2, 2, 1]);
    expect(reply.days[0]?.day).toBe(timestampDate(day(3)).toISOString().slice(0, 10));
  });

  it("covers the last 30 days by default, or the given span including both ends", async () => {
    const { admin } = await fleet();
    const client = port.client(ReportService, admin);
    expect(plain((await client.report({ kind: ReportKind.CATEGORIES })).counts)[0]).toBe(6);
    const exact = await client.report({ kind: ReportKind.CATEGORIES, from: day(2), to: day(2) });
    expect(plain(exact.counts)[0]).toBe(2);
    expect(await refusal(client.report({ kind: ReportKind.CATEGORIES, from: day(1), to: day(2) }))).toBe(
      "validation_failed",
    );
  });

  it("names actors as their newest row does, most rows first", async () => {
    const { admin } = await fleet();
    const reply = await port.client(ReportService, admin).report({ kind: ReportKind.USER_ACTIVITY, ...lately });
    expect(reply.actors.map((a) => [a.actorId, a.actorEmail, ...plain(a.counts)])).toEqual([
      [ada, "ada@new.example.com", 3, 2, 1, 0],
      [bob, "bob@example.com", 2, 1, 0, 1],
    ]);
    expect(Number(reply.actorTotal)).toBe(2);
    expect(reply.actors[0]?.lastAt).toEqual(day(2));
  });

  it("covers, for security events, exactly the documented actions, zeros included", async () => {
    const { admin } = await fleet();
    const reply = await port.client(ReportService, admin).report({ kind: ReportKind.SECURITY_EVENTS, ...lately });
    expect(reply.actions.map(({ action }) => action).sort()).toEqual([...securityActions].sort());
    expect(plain(reply.counts)).toEqual([3, 2, 1, 0]);
    expect(reply.rows.map(({ action }) => action)).toEqual(["user.login", "user.login", "user.login"]);
    expect(reply.actors.map(({ actorId }) => actorId)).toEqual([ada]);
  });

  it("covers, for compliance, exactly the documented actions, newest rows first", async () => {
    const { admin, partner } = await fleet();
    const reply = await port.client(ReportService, admin).report({ kind: ReportKind.COMPLIANCE });
    expect(reply.actions.map(({ action }) => action).sort()).toEqual([...complianceActions].sort());
    expect(reply.rows.map(({ action }) => action)).toEqual(["device.create", "organization.update"]);
    const whole = await port.client(ReportService, partner).report({ kind: ReportKind.COMPLIANCE });
    expect(whole.rows.map(({ action }) => action)).toEqual(["device.create", "device.create", "organization.update"]);
  });

  it("shows each caller only its own tenant", async () => {
    const { orgId, otherOrgId, partner, admin } = await fleet();
    const count = async (caller: typeof admin, request = {}) =>
      plain((await port.client(ReportService, caller).report({ kind: ReportKind.CATEGORIES, ...request })).counts)[0];
    expect([await count(partner), await count(partner, { orgId: otherOrgId })]).toEqual([7, 1]);
    const some = callers.partnerWithList(String(partner.partnerId), [otherOrgId]);
    expect(await count(some)).toBe(1);
    expect(await refusal(count(some, { orgId }))).toBe("organization_not_found");
    expect(await refusal(count({ ...admin, siteIds: [uuidv7()] }))).toBe("site_restricted");
    expect(await refusal(count({ ...admin, permissions: [] }))).toBe("permission_denied");
  });

  it("fails with the advice to narrow its span when it would take too long", async () => {
    const { admin } = await fleet();
    expect(await refusal(hurried.client(ReportService, admin).report({ kind: ReportKind.CATEGORIES }))).toBe(
      "time_range_too_wide",
    );
  });
});

describe("the documented lists", () => {
  it("match the security events and compliance actions verbatim", () => {
    expect([securityActions.length, complianceActions.length]).toEqual([8, 9]);
  });
});

describe("the report of sign-ins", () => {
  const count = (by: Parameters<TestPort["client"]>[1], change: object = {}) =>
    port.client(ReportService, by).countSignIns({ from: day(5), to: day(0), stepSeconds: 86_400, ...change });
  const codeOf = (call: Promise<unknown>) =>
    call.then(
      () => "answered",
      (error: unknown) => toAppError(error).code,
    );

  it("counts the accepted and the refused of each step, for those who may read the trail", async () => {
    const { partnerId, orgId, admin, partner } = await fleet();
    await seal({ partnerId, orgId, by: "identity", action: "user.login.failed", timestamp: day(2), result: "failure" });
    const { counts } = await count(admin);
    expect(counts.map(({ at, accepted, refused }) => [at && timestampDate(at).getTime(), accepted, refused])).toEqual([
      [timestampDate(day(3)).getTime() - 3_600_000, 1n, 1n],
      [timestampDate(day(2)).getTime() - 3_600_000, 1n, 1n],
    ]);
    expect((await count(partner, { orgId })).counts).toEqual(counts);
    expect((await count(admin, { stepSeconds: 3_600 })).counts).toHaveLength(2);
    expect((await count(admin, { to: day(4) })).counts).toEqual([]);
    expect((await count(callers.orgAdmin(partnerId, uuidv7()))).counts).toEqual([]);
  });

  it("is refused for a step that is none, for too many steps, and without the permission", async () => {
    const { partnerId, orgId, admin } = await fleet();
    expect(await codeOf(count(admin, { stepSeconds: 60 }))).toBe("validation_failed");
    expect(await codeOf(count(admin, { from: day(100), stepSeconds: 3_600 }))).toBe("validation_failed");
    expect(await codeOf(count(admin, { from: day(0), to: day(5) }))).toBe("validation_failed");
    expect(await codeOf(count(callers.orgAdmin(partnerId, orgId, { permissions: [] })))).toBe("permission_denied");
  });
});
