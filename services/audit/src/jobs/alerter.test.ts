import { fromBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { AppError, type Caller, createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { AlertService, type CreateAlertRequest } from "@muster/proto/muster/audit/v1/alert_pb";
import { PlatformEventSchema } from "@muster/proto/muster/events/v1/platform_pb";
import { register, toAppError } from "@muster/rpc";
import type { Notification, NotificationAuthorState } from "@muster/service";
import { callers, type TestDatabase, type TestPort, testPort } from "@muster/testing";
import { sealMessages } from "../events/sealer.ts";
import { alertService } from "../rpc/alert.ts";
import { auditDatabase, auditMessage, readerOf } from "../testing/audit.ts";
import { compareNewRows, endOrphans, sendFirings } from "./alerter.ts";

const log = createLogger("audit-test", "fatal");
const system = { caller: systemCaller("audit") };
let database: TestDatabase;
let port: TestPort;
const clock = { now: new Date() };
const now = () => clock.now;
/** What identity was given to send, and its answer. */
let notices: Notification[] = [];
let author: NotificationAuthorState = "allowed";
let isIdentityAway = false;

const ask = async () => {
  if (isIdentityAway) throw new AppError("unavailable", "Away");
  return author;
};
const notifications = {
  notify: (notice: Notification) => {
    notices.push(notice);
    return ask();
  },
  findAuthor: ask,
};
const deps = () => ({ db: database.db, log, now, notifications });

beforeAll(async () => {
  database = await auditDatabase();
  const rpc = { ...readerOf(database), now, mfaMaxAgeMinutes: 480, alertsPerTenant: 3 };
  port = await testPort("audit", [register(AlertService, alertService(rpc))]);
});
beforeEach(() => {
  notices = [];
  author = "allowed";
  isIdentityAway = false;
});
afterAll(async () => {
  await port?.close();
  await database?.drop();
});

type Change = Parameters<typeof auditMessage>[0];
type Wanted = Partial<Omit<CreateAlertRequest, "$typeName" | "filter">> & { filter?: Record<string, unknown> };

async function organization(partnerId = uuidv7()) {
  const orgId = uuidv7();
  const permitted = { mfaAt: new Date(), permissions: ["audit:read", "audit:write"] };
  const admin = { ...callers.orgAdmin(partnerId, orgId), ...permitted } as Caller;
  const partner = { ...callers.partnerAdmin(partnerId), ...permitted } as Caller;
  const sealAs = (service: string, ...changes: Change[]) =>
    sealMessages(
      { db: database.db, log, now, batchRows: 500, batchBytes: 10_000_000 },
      changes.map((change) => auditMessage({ partnerId, orgId, ...change }, service)),
    );
  const seal = (...changes: Change[]) => sealAs("tenancy", ...changes);
  await seal({});
  return { orgId, partnerId, admin, partner, seal, sealAs };
}

const client = (caller: Caller) => port.client(AlertService, caller);
const create = async (caller: Caller, wanted: Wanted = {}) => {
  const notify = { webhook: false, userIds: [uuidv7()] };
  const filter = wanted.template ? undefined : { action: "site.create" };
  const { alert } = await client(caller).createAlert({
    name: "Sites",
    notify,
    ...(filter ? { filter } : {}),
    ...wanted,
  });
  return alert?.id ?? "";
};
const alertOf = async (caller: Caller, id: string) => (await client(caller).getAlert({ id })).alert;
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => "answered",
    (error: unknown) => toAppError(error).code,
  );

async function run() {
  await compareNewRows(deps());
  await sendFirings(deps());
}

const eventsOf = async (orgId: string) => {
  const rows = await database.db.read<{ body: Buffer }>(
    system,
    sql`SELECT body FROM outbox WHERE subject = ${`events.audit.${orgId}.audit.alert_fired`} ORDER BY id`,
  );
  return rows.map(({ body }) => fromBinary(PlatformEventSchema, body));
};

describe("an alert", () => {
  it("notifies of rows that are sealed after it was set and match, once, whoever repeats the work", async () => {
    const { admin, seal, orgId, partnerId } = await organization();
    const recipient = uuidv7();
    const id = await create(admin, { notify: { webhook: true, userIds: [recipient] } as never });
    await seal({ action: "site.delete" }, { action: "site.create" }, { action: "site.create" });
    await Promise.all([run(), run(), run()]);
    await run();
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatchObject({ orgId, partnerId, authorId: admin.actor.id, to: [recipient] });
    expect(notices[0]?.line).toMatch(/^Sites: 2 rows, the last site\.create of site by /);
    const [event, ...more] = await eventsOf(orgId);
    expect([event?.type, event?.id, more.length]).toEqual(["audit.alert_fired", notices[0]?.id, 0]);
    const data = JSON.parse(event?.dataJson ?? "");
    expect([data.alertId, data.count, data.rows.map(({ seq }: { seq: number }) => seq)]).toEqual([id, 2, [3, 4]]);
    expect(await alertOf(admin, id)).toMatchObject({ fired: 1n, lastError: "", status: "active" });
  });

  it("is sent once its receiver answers again, under the same id", async () => {
    const { admin, seal, orgId } = await organization();
    await create(admin, { notify: { webhook: true, userIds: [] } as never });
    await seal({});
    isIdentityAway = true;
    await run();
    expect(await eventsOf(orgId)).toEqual([]);
    isIdentityAway = false;
    clock.now = new Date(clock.now.getTime() + 60_000);
    await run();
    expect(new Set(notices.map(({ id }) => id)).size).toBe(1);
    expect(await eventsOf(orgId)).toHaveLength(1);
  });

  it("sends nothing for an author who may no longer read the rows, and says so", async () => {
    const { admin, seal, orgId } = await organization();
    const id = await create(admin, { notify: { webhook: true, userIds: [] } as never });
    author = "refused";
    await seal({});
    await run();
    expect(await eventsOf(orgId)).toEqual([]);
    expect(await alertOf(admin, id)).toMatchObject({ status: "active", fired: 0n });
    expect((await alertOf(admin, id))?.lastError).toMatch(/may no longer read/);
  });

  it.each(["when it fires", "within an hour without a matching row"])("ends with its author, %s", async (when) => {
    const { admin, seal, orgId } = await organization();
    const id = await create(admin, { notify: { webhook: true, userIds: [] } as never });
    author = "missing";
    if (when === "when it fires") {
      await seal({}, {});
      await run();
    } else {
      clock.now = new Date(clock.now.getTime() + 3_600_001);
      await endOrphans(deps());
    }
    expect((await alertOf(admin, id))?.status).toBe("ended");
    author = "allowed";
    await seal({});
    await run();
    expect(await eventsOf(orgId)).toEqual([]);
    // Whoever changes it is its author, and it covers what comes then.
    await client(admin).updateAlert({ id, updateMask: { paths: ["status"] }, status: "active" });
    await seal({});
    await run();
    expect(await eventsOf(orgId)).toHaveLength(1);
  });

  it("never matches what alerts do by themselves", async () => {
    const { admin, sealAs } = await organization();
    await create(admin, { filter: { action: "audit.alert" } });
    await sealAs("audit", { action: "audit.alert.end", actorType: "system", actorId: "audit" });
    await run();
    expect(notices).toEqual([]);
    await sealAs("audit", { action: "audit.alert.delete" });
    await run();
    expect(notices).toHaveLength(1);
  });

  it("fires when its threshold is reached in time, over batches", async () => {
    const { admin, seal } = await organization();
    await create(admin, { threshold: { count: 3, minutes: 5 } as never });
    for (let i = 0; i < 4; i++) {
      await seal({});
      await run();
    }
    expect(notices.map(({ line }) => line.slice(0, 13))).toEqual(["Sites: 3 rows"]);
  });

  it("covers the organizations of its partner, also one that is new, and no other partner's", async () => {
    const one = await organization();
    const foreign = await organization();
    await create(one.partner, { notify: { webhook: false, userIds: [uuidv7()] } as never });
    const later = await organization(one.partnerId);
    await one.seal({});
    await foreign.seal({});
    await run();
    expect(notices.map(({ orgId }) => orgId).sort()).toEqual([one.orgId, later.orgId].sort());
    expect(await codeOf(create(one.partner, { notify: { webhook: true, userIds: [] } as never }))).toBe(
      "validation_failed",
    );
  });

  it("covers nothing that was sealed before it was set or resumed, while others of its chain lag, or none is", async () => {
    const { admin, seal } = await organization();
    const first = await create(admin, { name: "First" });
    await seal({});
    const second = await create(admin, { name: "Second" });
    await seal({});
    await run();
    const lines = () => notices.splice(0).map(({ line }) => line.slice(0, line.indexOf(" row")));
    expect(lines().sort()).toEqual(["First: 2", "Second: 1"]);
    const set = (id: string, status: string) =>
      client(admin).updateAlert({ id, updateMask: { paths: ["status"] }, status });
    for (const id of [first, second]) await set(id, "paused");
    await seal({});
    await set(second, "active");
    await seal({});
    // A change of an active alert skips nothing.
    await client(admin).updateAlert({ id: second, updateMask: { paths: ["name"] }, name: "Renamed" });
    await run();
    expect(lines()).toEqual(["Renamed: 1"]);
    for (const id of [first, second]) await client(admin).deleteAlert({ id });
    await run();
    await seal({});
    await create(admin, { name: "Third" });
    await run();
    expect(lines()).toEqual([]);
  });

  it("skips what was sealed while it was paused", async () => {
    const { admin, seal } = await organization();
    const id = await create(admin);
    await client(admin).updateAlert({ id, updateMask: { paths: ["status"] }, status: "paused" });
    await run();
    await seal({});
    await run();
    await client(admin).updateAlert({ id, updateMask: { paths: ["status"] }, status: "active" });
    await run();
    expect(notices).toEqual([]);
    await seal({});
    await run();
    expect(notices).toHaveLength(1);
  });
});

describe("a ready-made alert", () => {
  const changed = (before: object, after: object) => JSON.stringify({ changes: { before, after } });
  it.each<[string, string, string, string, boolean]>([
    ["new-administrator", "identity", "user.create", changed({}, { role: "org-admin" }), true],
    ["new-administrator", "identity", "user.create", changed({}, { role: "org-viewer" }), false],
    [
      "new-administrator",
      "identity",
      "user.permission.change",
      changed({ role: "x" }, { role: "partner-admin" }),
      true,
    ],
    ["new-administrator", "identity", "user.permission.change", changed({ role: "org-admin" }, { role: "x" }), false],
    ["sso-disabled", "identity", "sso.provider.status.update", '{"status":"inactive"}', true],
    ["sso-disabled", "identity", "sso.provider.status.update", '{"status":"active"}', false],
    [
      "sso-disabled",
      "identity",
      "sso.provider.status.update",
      changed({ status: "active" }, { status: "testing" }),
      true,
    ],
    ["sso-disabled", "identity", "sso.provider.update", changed({ enforceSSO: true }, { enforceSSO: false }), true],
    ["sso-disabled", "identity", "sso.provider.delete", "{}", true],
    ["key-with-all-scopes", "identity", "api_key.create", changed({}, { scopes: ["devices:read", "*"] }), true],
    ["key-with-all-scopes", "identity", "api_key.create", changed({}, { scopes: ["devices:read"] }), false],
    ["key-with-all-scopes", "identity", "service_principal.create", changed({}, { scopes: ["*"] }), true],
  ])("%s reads rows of %s: %s %s", async (template, service, action, detailsJson, matches) => {
    const { admin, sealAs } = await organization();
    await create(admin, { template });
    await sealAs(service, { action, detailsJson });
    await run();
    expect(notices.length === 1).toBe(matches);
  });

  it("many-refusals counts refused changes", async () => {
    const { admin, seal } = await organization();
    await create(admin, { template: "many-refusals" });
    await seal(...Array.from({ length: 10 }, () => ({ result: "denied" })));
    await run();
    expect(notices).toHaveLength(1);
  });
});

describe("alerts of another tenant", () => {
  it("do not exist for a caller, nor for users limited to sites", async () => {
    const { admin, orgId, partner } = await organization();
    const other = await organization();
    const id = await create(admin);
    expect(await codeOf(client(other.admin).getAlert({ id }))).toBe("audit_alert_not_found");
    expect(await codeOf(client(other.partner).deleteAlert({ id }))).toBe("audit_alert_not_found");
    expect((await client(other.admin).listAlerts({})).alerts).toEqual([]);
    expect((await client(partner).listAlerts({ orgId })).alerts.map((each) => each.id)).toEqual([id]);
    expect(await codeOf(client({ ...admin, siteIds: [uuidv7()] }).getAlert({ id }))).toBe("site_restricted");
    expect(await codeOf(client(partner).getAlert({ id: "x" }))).toBe("audit_alert_not_found");
    expect(await codeOf(client(other.admin).updateAlert({ id }))).toBe("no_updates");
    expect(await codeOf(create(other.admin, { orgId, name: "" }))).toBe("validation_failed");
  });

  it("count up to the limit of each tenant", async () => {
    const { admin, partner, orgId } = await organization();
    for (let i = 0; i < 3; i++) await create(i === 0 ? partner : admin, { orgId });
    expect(await codeOf(create(admin))).toBe("limit_reached");
    expect(await codeOf(create(partner))).toBe("answered");
  });

  it("need the permission, a second factor, and all organizations of a partner", async () => {
    const { admin, partner, orgId } = await organization();
    expect(await codeOf(create({ ...admin, permissions: ["audit:read"] }))).toBe("permission_denied");
    expect(await codeOf(create({ ...admin, mfaAt: null }))).toBe("mfa_required");
    const some = { ...partner, orgAccess: { mode: "list" as const, orgIds: [orgId] } };
    expect(await codeOf(create(some))).toBe("scope_not_allowed");
    expect(await codeOf(create(some, { orgId }))).toBe("answered");
  });
});
