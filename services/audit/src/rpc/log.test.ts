import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, createLogger, systemCaller, uuidv7 } from "@muster/kit";
import {
  AuditLogService,
  type ListLogsRequestSchema,
  type ListLogsResponse,
} from "@muster/proto/muster/audit/v1/log_pb";
import { register, toAppError } from "@muster/rpc";
import { callers, contextOf, explained, type Scan, type TestDatabase, type TestPort, testPort } from "@muster/testing";
import { sealMessages } from "../events/sealer.ts";
import { type LogFilter, noFilter } from "../rules/log-filter.ts";
import { rangeOf } from "../rules/range.ts";
import { listLogs } from "../store/logs.ts";
import { searchPermits } from "../store/search-permits.ts";
import { auditDatabase, auditMessage, readerOf } from "../testing/audit.ts";
import { auditLogService } from "./log.ts";

let database: TestDatabase;
let port: TestPort;
let hurried: TestPort;
const system = { caller: systemCaller("audit") };
const sealer = () => ({
  db: database.db,
  log: createLogger("audit-test", "fatal"),
  now: () => new Date(),
  batchRows: 500,
  batchBytes: 1_048_576,
});

beforeAll(async () => {
  database = await auditDatabase();
  const serve = (searchBudgetMs: number) =>
    testPort("audit", [
      register(AuditLogService, auditLogService({ ...readerOf(database), searchBudgetMs, searchConcurrency: 2 })),
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
const seal = async (...changes: Change[]) => {
  for (let at = 0; at < changes.length; at += 500) {
    const batch = changes.slice(at, at + 500).map((change) => auditMessage(change));
    await sealMessages(sealer(), batch);
  }
};
type Request = Omit<MessageInitShape<typeof ListLogsRequestSchema>, "$typeName" | "$unknown" | "page"> & {
  page?: { page?: number; limit?: number; cursor?: string; skipCount?: boolean };
};
const clientOf = (caller: Caller, at = port) => at.client(AuditLogService, caller);
const list = (caller: Caller, request: Request = {}, at = port): Promise<ListLogsResponse> =>
  clientOf(caller, at).listLogs(request);
/** How the table is read for a list. */
async function scansOfList(caller: Caller, orgId: string | null, filter: Partial<LogFilter>): Promise<Scan[]> {
  const { db, scans } = explained(database.db);
  const search = { db, permits: searchPermits(2, 1_000), budgetMs: 2_000 };
  const page = { page: 1, limit: 20, cursor: null, skipCount: true };
  await listLogs(search, contextOf(caller), rangeOf(caller, orgId), { ...noFilter, ...filter }, page);
  return scans.filter(({ table }) => table.startsWith("audit_log"));
}
const names = (reply: ListLogsResponse) => reply.logs.map((log) => log.resourceName);
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => "answered",
    (error: unknown) => toAppError(error).code,
  );
const yesterday = Date.now() - 86_400_000;
const at = (minute: number) => timestampFromDate(new Date(yesterday + minute * 60_000));

/** A partner with two organizations, a row in each chain, and a foreign partner with one. */
async function fleet() {
  const [partnerId, orgA, orgB, foreignPartnerId, foreignOrg] = [uuidv7(), uuidv7(), uuidv7(), uuidv7(), uuidv7()];
  await seal(
    { partnerId, resourceName: "partner", action: "partner.update" },
    { partnerId, orgId: orgA, resourceName: "a" },
    { partnerId, orgId: orgB, resourceName: "b" },
    { partnerId: foreignPartnerId, orgId: foreignOrg, resourceName: "foreign" },
  );
  return { partnerId, orgA, orgB, foreignPartnerId, foreignOrg };
}

describe("a caller's rows", () => {
  it("are those of the caller's own chains", async () => {
    const { partnerId, orgA, orgB, foreignPartnerId } = await fleet();
    const seen = async (caller: Caller) => names(await list(caller)).sort();
    expect(await seen(callers.orgAdmin(partnerId, orgA))).toEqual(["a"]);
    expect(await seen(callers.partnerAdmin(partnerId))).toEqual(["a", "b", "partner"]);
    expect(await seen(callers.partnerWithList(partnerId, [orgB]))).toEqual(["b", "partner"]);
    expect(await seen(callers.partnerWithList(partnerId, []))).toEqual(["partner"]);
    expect(await seen(callers.partnerAdmin(foreignPartnerId))).toEqual(["foreign"]);
    expect(await seen(callers.partnerAdmin(uuidv7()))).toEqual([]);
    expect(await seen(callers.orgAdmin(uuidv7(), uuidv7()))).toEqual([]);
    // An organization of another tenant in a list gives access to nothing.
    expect(await seen(callers.partnerWithList(foreignPartnerId, [orgA]))).toEqual([]);
  });

  it("are counted without filters as they are shown", async () => {
    const { partnerId, orgA, orgB } = await fleet();
    const total = async (caller: Caller) => (await list(caller)).page?.total;
    expect(await total(callers.orgAdmin(partnerId, orgA))).toBe(1n);
    expect(await total(callers.partnerAdmin(partnerId))).toBe(3n);
    expect(await total(callers.partnerWithList(partnerId, [orgB]))).toBe(2n);
  });

  it("include the platform's chain for system callers only", async () => {
    const { partnerId } = await fleet();
    const name = `platform ${uuidv7()}`;
    await seal({ resourceName: name, action: "partner.update" });
    expect(names(await list(callers.platformAdmin(), { resource: name }))).toEqual([name]);
    expect(names(await list(callers.partnerAdmin(partnerId), { resource: name }))).toEqual([]);
    const { logs } = await list(callers.platformAdmin(), { resource: name });
    expect(logs[0]?.orgId).toBe("");
  });

  it("can be filtered by an organization in scope, and not by any other", async () => {
    const { partnerId, orgA, orgB, foreignOrg } = await fleet();
    const narrowed = async (caller: Caller, orgId: string) =>
      list(caller, { orgId }).then(names, (error: unknown) => toAppError(error).code);
    expect(await narrowed(callers.platformAdmin(), orgA)).toEqual(["a"]);
    expect(await narrowed(callers.partnerAdmin(partnerId), orgA)).toEqual(["a"]);
    expect(await narrowed(callers.partnerWithList(partnerId, [orgB]), orgB)).toEqual(["b"]);
    expect(await narrowed(callers.orgAdmin(partnerId, orgA), orgA.toUpperCase())).toEqual(["a"]);
    for (const [caller, orgId] of [
      [callers.platformAdmin(), uuidv7()],
      [callers.platformAdmin(), partnerId],
      [callers.partnerAdmin(partnerId), foreignOrg],
      [callers.partnerAdmin(partnerId), partnerId],
      [callers.partnerWithList(partnerId, [orgB]), orgA],
      [callers.partnerWithList(partnerId, [foreignOrg]), foreignOrg],
      [callers.orgAdmin(partnerId, orgA), orgB],
    ] as const) {
      expect(await narrowed(caller, orgId)).toBe("organization_not_found");
      expect(await refusal(clientOf(caller).getLog({ id: uuidv7(), orgId }))).toBe("organization_not_found");
    }
  });

  it("follow the copy of tenants: new organizations have empty lists, deleted ones are visible to the system only", async () => {
    const [partnerId, fresh, gone] = [uuidv7(), uuidv7(), uuidv7()];
    await seal({ partnerId, orgId: gone, resourceName: "left" });
    await database.db.tx(system, async (tx) => {
      for (const [id, deleted] of [
        [fresh, false],
        [gone, true],
      ] as const) {
        await tx.execute(sql`INSERT INTO tenant (kind, id, partner_id, org_id, version, status, deleted, updated_at)
          VALUES ('organization', ${id}, ${partnerId}, ${id}, 1, 'active', ${deleted}, now())`);
      }
    });
    const partner = callers.partnerAdmin(partnerId);
    expect(names(await list(partner, { orgId: fresh }))).toEqual([]);
    expect(await refusal(list(partner, { orgId: gone }))).toBe("organization_not_found");
    expect(names(await list(callers.platformAdmin(), { orgId: gone }))).toEqual(["left"]);
    expect(await refusal(list(callers.partnerAdmin(uuidv7()), { orgId: fresh }))).toBe("organization_not_found");
  });

  it("can be read by id by callers who may see them, with 404 for all others", async () => {
    const { partnerId, orgA, orgB, foreignPartnerId, foreignOrg } = await fleet();
    const [log] = (await list(callers.orgAdmin(partnerId, orgA))).logs;
    const one = (caller: Caller, id = log?.id ?? "") =>
      clientOf(caller)
        .getLog({ id })
        .then(
          (reply) => reply.log?.resourceName,
          (error: unknown) => toAppError(error).code,
        );
    expect(await one(callers.orgAdmin(partnerId, orgA))).toBe("a");
    expect(await one(callers.partnerAdmin(partnerId))).toBe("a");
    expect(await one(callers.partnerWithList(partnerId, [orgA]))).toBe("a");
    expect(await one(callers.platformAdmin())).toBe("a");
    for (const caller of [
      callers.orgAdmin(partnerId, orgB),
      callers.orgAdmin(foreignPartnerId, foreignOrg),
      callers.partnerAdmin(foreignPartnerId),
      callers.partnerWithList(partnerId, [orgB]),
      callers.partnerWithList(foreignPartnerId, [orgA]),
    ]) {
      expect(await one(caller)).toBe("audit_log_not_found");
    }
    expect(await one(callers.platformAdmin(), "no id")).toBe("audit_log_not_found");
  });

  it("are refused to users limited to some sites, and to callers without the permission", async () => {
    const { partnerId, orgA } = await fleet();
    const limited = callers.orgAdmin(partnerId, orgA, { siteIds: [uuidv7()] });
    const powerless = callers.orgAdmin(partnerId, orgA, { permissions: ["organizations:read"] });
    for (const [caller, code] of [
      [limited, "site_restricted"],
      [powerless, "permission_denied"],
    ] as const) {
      expect(await refusal(list(caller))).toBe(code);
      expect(await refusal(clientOf(caller).getLog({ id: uuidv7() }))).toBe(code);
    }
  });

  it("are in no table readable without a caller", async () => {
    await fleet();
    for (const table of ["audit_log", "chain_head", "tenant", "outbox", "dead_letter", "job"]) {
      const statement = { text: `SELECT 1 FROM ${table}`, values: [] };
      expect(await database.db.read({ caller: null }, statement)).toEqual([]);
    }
  });
});

describe("filters", () => {
  const [actorId, resourceId, sessionId] = [uuidv7(), uuidv7(), uuidv7()];
  const target = { type: "invoice", id: "2026-0042", name: "Invoice 42" };
  let org: Caller;
  let partner: Caller;
  beforeAll(async () => {
    const [partnerId, orgId] = [uuidv7(), uuidv7()];
    org = callers.orgAdmin(partnerId, orgId);
    partner = callers.partnerAdmin(partnerId);
    const row = (n: number, change: Change): Change => ({ partnerId, orgId, timestamp: at(n), ...change });
    await seal(
      row(1, {
        sessionId,
        resourceName: "one",
        action: "site.create",
        actorEmail: "Ada@Example.com",
        actorName: "Ada",
      }),
      row(2, {
        resourceName: "two",
        action: "site.update",
        actorEmail: "bob@example.com",
        actorName: "Bob 100%",
        ipAddress: "2001:DB8::9",
        result: "denied",
      }),
      row(3, {
        actorType: "agent",
        resourceName: "thr_ee",
        action: "device.create",
        resourceType: "device",
        actorEmail: "",
        resourceId,
      }),
      row(4, { resourceName: "", action: "device.update", resourceType: "device", actorEmail: "", actorId }),
      row(5, {
        resourceName: "c:\\five",
        targets: [target],
        action: "site.delete",
        detailsJson: '{"Key":"say \\"hi\\" to Ümlaut"}',
      }),
    );
  });
  const shown = async (request: Request) => {
    const reply = await list(org, request);
    expect(reply.page?.total).toBe(BigInt(reply.logs.length));
    expect(reply.page?.totalIsEstimate).toBe(false);
    return names(reply);
  };

  it.each<[string, Request, string[]]>([
    ["nothing: newest first", {}, ["c:\\five", "", "thr_ee", "two", "one"]],
    ["user by e-mail, ignoring case", { user: "ADA@ex" }, ["c:\\five", "one"]],
    ["user by name", { user: "bob 1" }, ["two"]],
    ["action contains", { action: "E.C" }, ["thr_ee", "one"]],
    ["action that is nowhere", { action: "nothing" }, []],
    ["resource by type", { resource: "DEV" }, ["", "thr_ee"]],
    ["resource by name", { resource: "tw" }, ["two"]],
    ["a percent sign as itself", { user: "100%" }, ["two"]],
    ["a percent sign alone as itself", { action: "%" }, []],
    ["an underscore as itself", { resource: "r_e" }, ["thr_ee"]],
    ["an underscore alone as itself", { action: "_" }, []],
    ["a backslash as itself", { resource: "c:\\f" }, ["c:\\five"]],
    ["excluded actions", { excludeActions: ["site.create", "site.delete"] }, ["", "thr_ee", "two"]],
    ["an action, but not this one", { action: "site", excludeActions: ["site.update"] }, ["c:\\five", "one"]],
    ["exactly these actions", { actions: ["site.create", "device.update", "site"] }, ["", "one"]],
    [
      "exactly these actions, but not one",
      { actions: ["site.create", "site.update"], excludeActions: ["site.update"] },
      ["one"],
    ],
    ["exactly these actions of a user", { actions: ["site.create", "site.update"], user: "bob" }, ["two"]],
    ["a category", { category: "device" }, ["", "thr_ee"]],
    ["the category of what no prefix names", { category: "system" }, ["c:\\five", "two", "one"]],
    ["a category of a user", { category: "system", user: "bob" }, ["two"]],
    ["a result", { result: "denied" }, ["two"]],
    ["an actor by id", { actorId }, [""]],
    ["a resource by id", { resourceId: resourceId.toUpperCase() }, ["thr_ee"]],
    ["a type of actors", { actorType: "agent" }, ["thr_ee"]],
    ["a session", { sessionId: sessionId.toUpperCase() }, ["one"]],
    ["an address in another spelling", { ipAddress: "2001:db8:0::9" }, ["two"]],
    ["a network", { network: "2001:db8::/32" }, ["two"]],
    ["a network of the other kind", { network: "192.0.2.0/24" }, ["c:\\five", "", "thr_ee", "one"]],
    ["a network of nobody", { network: "10.0.0.0/8" }, []],
    ["a target", { target: target.id }, ["c:\\five"]],
    ["a resource as a target", { target: resourceId.toUpperCase() }, ["thr_ee"]],
    ["a target that is none", { target: "2026" }, []],
    ["rows without targets of a type", { excludeTargetTypes: [target.type] }, ["", "thr_ee", "two", "one"]],
    [
      "rows without targets of a type, of some actions",
      { excludeTargetTypes: ["role", target.type], actions: ["site.create", "site.delete"] },
      ["one"],
    ],
    ["rows without targets of a type that none has", { excludeTargetTypes: ["role"], action: "delete" }, ["c:\\five"]],
    ["a network and a user", { network: "2001:db8::/32", user: "bob" }, ["two"]],
    ["a resource type, whole", { resourceType: "devic" }, []],
    ["a resource type", { resourceType: "device" }, ["", "thr_ee"]],
    ["from", { from: at(4) }, ["c:\\five", ""]],
    ["to", { to: at(2) }, ["two", "one"]],
    ["from and to", { from: at(2), to: at(3) }, ["thr_ee", "two"]],
    ["from after to", { from: at(3), to: at(2) }, []],
    ["all of them together", { action: "site", user: "bob", resource: "site", from: at(1), to: at(3) }, ["two"]],
    ["query on actions", { query: "SITE.up" }, ["two"]],
    ["query on e-mails", { query: "bob@" }, ["two"]],
    ["query on resource types", { query: "devic" }, ["", "thr_ee"]],
    ["query on resource names", { query: "HR_E" }, ["thr_ee"]],
    ["query on keys of the details", { query: "key" }, ["c:\\five"]],
    ["query on quoted text in the details", { query: 'say "HI"' }, ["c:\\five"]],
    ["query does not search names of users", { query: "Bob 100" }, []],
    ["query and filter", { query: "site", user: "bob" }, ["two"]],
  ])("%s", async (_name, request, expected) => {
    expect(await shown(request)).toEqual(expected);
  });

  it("have the same result over several chains as in one", async () => {
    for (const request of [{ actions: ["site.create"] }, { category: "device" }, { category: "system", user: "bob" }]) {
      expect(names(await list(partner, request))).toEqual(names(await list(org, request)));
    }
  });

  it.each([
    { actorId: "x" },
    { resourceId: "1" },
    { result: "good" },
    { category: "devices" },
    { actorType: "robot" },
    { ipAddress: "1.2.3" },
    { network: "1.2.3.4/33" },
    { sessionId: "7" },
  ])("%j is refused by its name", async (request) => {
    expect(await refusal(list(org, request))).toBe("validation_failed");
  });

  it("have no total under skipCount", async () => {
    for (const request of [{}, { action: "site" }, { user: "ada" }, { from: at(2) }]) {
      const { page } = await list(org, { ...request, page: { limit: 50, skipCount: true } });
      expect(page?.total).toBeUndefined();
    }
  });

  it.each<[string, Request]>([
    ["no filter", {}],
    ["an action", { action: "e" }],
    ["a search", { query: "e" }],
    ["a time", { from: at(0) }],
  ])("walks pages and cursors through the same rows under %s", async (_name, request) => {
    const all = names(await list(org, request));
    const byPage: string[] = [];
    for (let page = 1; page <= 3; page++) {
      const reply = await list(org, { ...request, page: { page, limit: 2 } });
      expect(reply.page?.total).toBe(BigInt(all.length));
      byPage.push(...names(reply));
    }
    expect(byPage).toEqual(all);
    const byCursor: string[] = [];
    let cursor = "";
    do {
      const reply: ListLogsResponse = await list(org, { ...request, page: { limit: 2, cursor } });
      byCursor.push(...names(reply));
      cursor = reply.page?.nextCursor ?? "";
    } while (cursor);
    expect(byCursor).toEqual(all);
  });

  it.each([
    ["text", "nonsense"],
    ["other parts", Buffer.from('["a"]').toString("base64url")],
    ["no time", Buffer.from(JSON.stringify(["never", uuidv7(), "0"])).toString("base64url")],
    ["no id", Buffer.from(JSON.stringify([new Date().toISOString(), "x", "0"])).toString("base64url")],
    [
      "a negative position",
      Buffer.from(JSON.stringify([new Date().toISOString(), uuidv7(), "-1"])).toString("base64url"),
    ],
  ])("refuses a cursor of %s", async (_name, cursor) => {
    expect(await refusal(list(org, { page: { cursor } }))).toBe("validation_failed");
    expect(await refusal(list(org, { query: "x", page: { cursor } }))).toBe("validation_failed");
  });
});

describe("several chains at once", () => {
  it("are merged by time, whatever the filter, for lists of organizations as for all", async () => {
    const [partnerId, ...orgs] = Array.from({ length: 6 }, () => uuidv7());
    const changes = Array.from({ length: 60 }, (_, n) => ({
      partnerId,
      orgId: orgs[n % 5],
      timestamp: at(n),
      resourceName: `r${n}`,
      actorEmail: n % 3 === 0 ? "third@example.com" : "other@example.com",
    }));
    await seal(...changes);
    const wanted = changes.map((change) => change.resourceName).reverse();
    for (const caller of [
      callers.partnerAdmin(partnerId as string),
      callers.partnerWithList(partnerId as string, orgs),
    ]) {
      const every: Request = { page: { limit: 100 } };
      expect(names(await list(caller, every))).toEqual(wanted);
      expect(names(await list(caller, { page: { limit: 7, page: 3 } }))).toEqual(wanted.slice(14, 21));
      const third = wanted.filter((name) => Number(name.slice(1)) % 3 === 0);
      expect(names(await list(caller, { ...every, user: "third" }))).toEqual(third);
      expect(names(await list(caller, { user: "third", page: { limit: 7, page: 2 } }))).toEqual(third.slice(7, 14));
      expect(names(await list(caller, { ...every, action: "site" }))).toEqual(wanted);
      const { page } = await list(caller, { user: "third", page: { limit: 7 } });
      expect([page?.total, page?.totalIsEstimate]).toEqual([20n, false]);
    }
  });
});

describe("a search that reaches its deadline", () => {
  it("returns a partial page and its position, and continues without losing or repeating a row", async () => {
    const [partnerId, orgId] = [uuidv7(), uuidv7()];
    const org = callers.orgAdmin(partnerId, orgId);
    const rows = Array.from({ length: 2_500 }, (_, n) => ({
      partnerId,
      orgId,
      timestamp: at(n / 100),
      resourceName: `r${n}`,
      actorEmail: n % 100 === 0 ? "hundredth@example.com" : "other@example.com",
    }));
    await seal(...rows);
    const first = await list(org, { user: "hundredth" }, hurried);
    expect(first.logs).toHaveLength(10);
    expect(first.page).toMatchObject({ totalIsEstimate: true, total: 25n });
    expect(first.searchedTo).toEqual(rows[1_500]?.timestamp);

    const seen = names(first);
    let replies = 1;
    for (let cursor = first.page?.nextCursor ?? ""; cursor; replies++) {
      const reply = await list(org, { user: "hundredth", page: { cursor, limit: 50, skipCount: true } }, hurried);
      seen.push(...names(reply));
      cursor = reply.page?.nextCursor ?? "";
    }
    expect(seen).toEqual(Array.from({ length: 25 }, (_, n) => `r${2_400 - n * 100}`));
    expect(replies).toBe(3);
  }, 60_000);

  it.each(["resourceId", "actorId"] as const)(
    "sees the rows of one %s alone, along an index, whatever else is asked of them",
    async (key) => {
      const [partnerId, orgId, otherOrgId, id] = [uuidv7(), uuidv7(), uuidv7(), uuidv7()];
      const row = (n: number): Change => ({ partnerId, orgId, timestamp: at(n / 100), resourceName: `r${n}` });
      const wantedRow = (n: number, change: object = {}) => ({ ...row(n), [key]: id, ...change }) as Change;
      await seal(
        wantedRow(0),
        wantedRow(1, { result: "denied" }),
        wantedRow(2, { orgId: otherOrgId }),
        ...Array.from({ length: 1_500 }, (_, n) => row(3 + n)),
        wantedRow(1_503),
      );
      const chains = callers.partnerWithList(partnerId, [orgId, otherOrgId]);
      for (const [caller, wanted, found] of [
        [callers.orgAdmin(partnerId, orgId), {}, ["r1503", "r1", "r0"]],
        [callers.orgAdmin(partnerId, orgId), { result: "denied" }, ["r1"]],
        [callers.partnerAdmin(partnerId), { orgId }, ["r1503", "r1", "r0"]],
        [chains, {}, ["r1503", "r2", "r1", "r0"]],
      ] as const) {
        const reply = await list(caller, { [key]: id, ...wanted }, hurried);
        expect([names(reply), reply.page?.total, reply.searchedTo]).toEqual([found, BigInt(found.length), undefined]);
        const scans = await scansOfList(caller, caller.orgId ?? orgId, { [key]: id });
        expect(scans.length).toBeGreaterThan(0);
        expect(scans.filter(({ rows }) => rows > 4)).toEqual([]);
      }
    },
    60_000,
  );

  it("keeps the position of a later page while it is still skipping", async () => {
    const [partnerId, orgId] = [uuidv7(), uuidv7()];
    const org = callers.orgAdmin(partnerId, orgId);
    await seal(
      ...Array.from({ length: 1_500 }, (_, n) => ({
        partnerId,
        orgId,
        timestamp: at(n / 100),
        resourceName: `r${n}`,
        actorEmail: n % 100 === 0 ? "hundredth@example.com" : "other@example.com",
      })),
    );
    // 15 matches: page 4 of 4 is the last three, of which the first chunk sees none.
    const first = await list(org, { user: "hundredth", page: { page: 4, limit: 4 } }, hurried);
    expect(names(first)).toEqual([]);
    const cursor = first.page?.nextCursor ?? "";
    const rest = await list(org, { user: "hundredth", page: { cursor, limit: 4 } }, hurried);
    expect(names(rest)).toEqual(["r200", "r100", "r0"]);
  }, 60_000);
});
