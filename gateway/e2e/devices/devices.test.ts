import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Api, api, signIn } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { auditedActions, enroller, newOrganization, newTenant, publishedEvents } from "../support/enroller.ts";
import { sharedCluster } from "../support/shared-cluster.ts";

let cluster: Cluster;
let root: Api;
let enroll: Awaited<ReturnType<typeof enroller>>;
beforeAll(async () => {
  cluster = await sharedCluster();
  root = api(cluster, (await signIn(cluster)).accessToken);
  enroll = await enroller(cluster);
}, 180_000);

const idsOf = (body: { data?: unknown[] }) => ((body.data ?? []) as { id: string }[]).map(({ id }) => id);

describe("a device", () => {
  it("is shown with every field", async () => {
    const { orgId, siteId } = await newTenant(root);
    const id = await enroll(orgId, { siteId, hostname: "WS-042" });
    const { status, body } = await root.call("GET", `/devices/${id}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      id,
      orgId,
      siteId,
      groupIds: [],
      hostname: "WS-042",
      os: "windows",
      arch: "amd64",
      agentVersion: "1.0.0",
      watchdogVersion: null,
      status: "offline",
      lastSeenAt: null,
      lastIpAddress: null,
      hardwareId: null,
      serialNumber: null,
      labels: {},
      quarantineReason: null,
      enrollmentKeyId: null,
      helperVersion: null,
      libc: null,
      updateState: null,
      reported: null,
      autoUpdateEnabled: true,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: body.createdAt,
    });
    const listed = await root.call("GET", `/devices?orgId=${orgId}`);
    expect(listed.body).toEqual({ data: [body], pagination: { page: 1, limit: 50, total: 1, nextCursor: null } });
  });

  it("is changed, published on the stream and audited", async () => {
    const { orgId, siteId } = await newTenant(root);
    const id = await enroll(orgId);
    const { status, body } = await root.call("PATCH", `/devices/${id}`, {
      hostname: "NEW",
      siteId,
      orgId: randomUUID(),
    });
    expect([status, body]).toEqual([200, expect.objectContaining({ id, orgId, siteId, hostname: "NEW" })]);
    const left = await root.call("PATCH", `/devices/${id}`, { siteId: null });
    expect(left.body).toMatchObject({ siteId: null, hostname: "NEW" });
    const actions = await until("the audit rows", async () => {
      const found = await auditedActions(root, "device.", id);
      return found.length >= 3 && found;
    });
    expect(actions).toEqual(["device.create", "device.update", "device.update"]);
    const events = await until("the events", async () => {
      const found = await publishedEvents(cluster, id);
      return found.length >= 3 && found;
    });
    expect(events).toEqual(["tenancy.device.created", "tenancy.device.updated", "tenancy.device.updated"]);
  });

  it("has its agent updates turned off and on", async () => {
    const id = await enroll((await newTenant(root)).orgId);
    for (const enabled of [false, true]) {
      const reply = await root.call("POST", `/devices/${id}/auto-update`, { enabled });
      expect([reply.status, reply.body]).toEqual([200, { id, autoUpdateEnabled: enabled }]);
      expect((await root.call("GET", `/devices/${id}`)).body.autoUpdateEnabled).toBe(enabled);
    }
    for (const body of [{}, { enabled: "yes" }, { enabled: null }, { enabled: 1 }]) {
      const reply = await root.call("POST", `/devices/${id}/auto-update`, body);
      expect([reply.status, reply.body.code]).toEqual([400, "validation_failed"]);
    }
    expect((await root.call("POST", `/devices/${randomUUID()}/auto-update`, { enabled: true })).status).toBe(404);
  });

  it("is decommissioned once, stays to be read, and frees its place", async () => {
    const { orgId } = await newTenant(root, { maxDevices: 1 });
    const id = await enroll(orgId);
    await expect(enroll(orgId)).rejects.toThrow("limit of devices");
    for (let i = 0; i < 2; i++) {
      const { status, body } = await root.call("DELETE", `/devices/${id}`);
      expect([status, body]).toEqual([200, { success: true }]);
    }
    expect((await root.call("GET", `/devices/${id}`)).body.status).toBe("decommissioned");
    const late = await root.call("PATCH", `/devices/${id}`, { hostname: "X" });
    expect([late.status, late.body.code]).toEqual([409, "device_decommissioned"]);
    const next = await enroll(orgId);
    await until("the later audit row", async () => (await auditedActions(root, "device.", next)).length > 0);
    expect(await auditedActions(root, "device.", id)).toEqual(["device.create", "device.delete"]);
  });

  it("keeps its organization when its site is deleted", async () => {
    const { orgId, siteId } = await newTenant(root);
    const id = await enroll(orgId, { siteId });
    expect((await root.call("DELETE", `/orgs/sites/${siteId}`)).body).toEqual({ success: true });
    expect((await root.call("GET", `/devices/${id}`)).body).toMatchObject({ orgId, siteId: null });
  });

  it("is quarantined when it clones an active one", async () => {
    const { orgId } = await newTenant(root);
    const first = await enroll(orgId, { hardwareId: "board" });
    const clone = await enroll(orgId, { hardwareId: "board" });
    const statusOf = async (id: string) => (await root.call("GET", `/devices/${id}`)).body.status;
    expect([await statusOf(first), await statusOf(clone)]).toEqual(["offline", "quarantined"]);
    for (const either of ["quarantined", "quarantined,decommissioned", "decommissioned&status=quarantined"])
      expect(idsOf((await root.call("GET", `/devices?orgId=${orgId}&status=${either}`)).body)).toEqual([clone]);
  });
});

describe("what a device refuses", () => {
  it.each([
    ["hostname", { hostname: "" }],
    ["hostname", { hostname: "x".repeat(256) }],
    ["hostname", { hostname: null }],
    ["hostname", { hostname: 7 }],
    ["hostname", { hostname: "a\u0000b" }],
    ["hostname", { hostname: "\ud800" }],
    ["hostname", { hostname: "a\nb" }],
    ["siteId", { siteId: "here" }],
    ["siteId", { siteId: 5 }],
    ["autoUpdateEnabled", { autoUpdateEnabled: "true" }],
  ])("a bad %s: %j", async (field, change) => {
    const id = await enroll((await newTenant(root)).orgId);
    const before = await root.call("GET", `/devices/${id}`);
    const { status, body } = await root.call("PATCH", `/devices/${id}`, change);
    expect([status, body.code]).toEqual([400, "validation_failed"]);
    expect(Object.keys((body.details as { fieldErrors: object }).fieldErrors)).toEqual([field]);
    expect((await root.call("GET", `/devices/${id}`)).body).toEqual(before.body);
  });

  it.each([[{}], [{ status: "online" }], [{ orgId: randomUUID(), groupIds: [] }]])("a PATCH with %j", async (body) => {
    const id = await enroll((await newTenant(root)).orgId);
    const reply = await root.call("PATCH", `/devices/${id}`, body);
    expect([reply.status, reply.body.code, reply.body.error]).toEqual([400, "no_updates", "No updates provided"]);
  });

  it("a site of another organization, or none at all", async () => {
    const [own, other] = [await newTenant(root), await newTenant(root)];
    const id = await enroll(own.orgId);
    for (const siteId of [other.siteId, randomUUID()]) {
      const { status, body } = await root.call("PATCH", `/devices/${id}`, { siteId });
      expect([status, body.code]).toEqual([404, "site_not_found"]);
    }
  });

  it.each([
    ["GET", randomUUID(), 404],
    ["GET", "nonsense", 400],
    ["PATCH", randomUUID(), 404],
    ["DELETE", randomUUID(), 404],
    ["DELETE", "nonsense", 400],
  ])("%s of %s with %d", async (method, id, expected) => {
    const body = method === "PATCH" ? { hostname: "H" } : undefined;
    expect((await root.call(method, `/devices/${id}`, body)).status).toBe(expected);
  });

  it("everybody without a session", async () => {
    const anonymous = api(cluster);
    const id = randomUUID();
    const calls = [
      anonymous.call("GET", "/devices"),
      anonymous.call("GET", `/devices/${id}`),
      anonymous.call("PATCH", `/devices/${id}`, { hostname: "H" }),
      anonymous.call("DELETE", `/devices/${id}`),
      anonymous.call("POST", `/devices/${id}/auto-update`, { enabled: true }),
    ];
    for (const { status } of await Promise.all(calls)) expect(status).toBe(401);
  });
});

describe("the list of devices", () => {
  it("narrows by every filter and walks by cursor, newest first", async () => {
    const { partnerId, orgId, siteId } = await newTenant(root);
    const elsewhere = await newOrganization(root, partnerId);
    const ids: string[] = [];
    for (let i = 0; i < 5; i++)
      ids.unshift(await enroll(orgId, { hostname: `web-${i}`, ...(i === 2 ? { siteId } : {}) }));
    await enroll(elsewhere, { hostname: "web-9" });
    const listed = async (query: string) => idsOf((await root.call("GET", `/devices?orgId=${orgId}&${query}`)).body);
    expect(await listed("")).toEqual(ids);
    expect(await listed("search=WEB-3")).toEqual([ids[1]]);
    expect(await listed("search=%25")).toEqual([]);
    expect(await listed(`siteId=${siteId}`)).toEqual([ids[2]]);
    expect(await listed("status=online")).toEqual([]);
    expect(await listed("page=2&limit=2")).toEqual(ids.slice(2, 4));
    const walked: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const { body } = await root.call("GET", `/devices?orgId=${orgId}&limit=2&skipCount=true&cursor=${cursor}`);
      walked.push(...idsOf(body));
      const page = body.pagination as { nextCursor: string | null; total: null };
      expect(page.total).toBeNull();
      cursor = page.nextCursor;
    }
    expect(walked).toEqual(ids);
  });

  it("narrows by what agents report of their machines", async () => {
    const { orgId } = await newTenant(root);
    const machines = {
      linux: { os: "linux", arch: "arm64", agentVersion: "1.10.0", hardwareId: "BOARD-7", labels: { region: "eu" } },
      windows: { os: "windows", arch: "amd64", agentVersion: "1.9.0", serialNumber: "SN-42", labels: { region: "us" } },
    };
    const ids = { linux: await enroll(orgId, machines.linux), windows: await enroll(orgId, machines.windows) };
    const filters: [query: string, found: (keyof typeof ids)[]][] = [
      ["os=linux", ["linux"]],
      ["arch=amd64", ["windows"]],
      ["agentVersion=1.10.0", ["linux"]],
      ["agentVersion=1.1", []],
      ["agentVersionRange=%3C1.10.0", ["windows"]],
      ["agentVersionRange=1.x", ["windows", "linux"]],
      ["hardwareId=board-7", ["linux"]],
      ["serialNumber=sn-42", ["windows"]],
      ["search=sn-4", ["windows"]],
      ["label=region=eu", ["linux"]],
      ["label=region", ["windows", "linux"]],
      ["label=rack", []],
      ["address=192.0.2.0/24", []],
      ["updateState=ahead", []],
    ];
    for (const [query, found] of filters) {
      const { body } = await root.call("GET", `/devices?orgId=${orgId}&${query}`);
      expect([query, idsOf(body)]).toEqual([query, found.map((each) => ids[each])]);
    }
  });

  it("is sorted by host name or by the last sign of life, both ways", async () => {
    const { orgId } = await newTenant(root);
    const made: Record<string, string> = {};
    for (const hostname of ["b", "C", "a"]) made[hostname] = await enroll(orgId, { hostname });
    const sorted = async (sort: string, more = "") =>
      (await root.call("GET", `/devices?orgId=${orgId}&sort=${sort}${more}`)).body;
    const named = (...names: string[]) => names.map((name) => made[name]);
    expect(idsOf(await sorted("hostname"))).toEqual(named("a", "b", "C"));
    expect(idsOf(await sorted("-hostname"))).toEqual(named("C", "b", "a"));
    // No device was ever seen: each is ordered by its enrollment.
    const newest = idsOf((await root.call("GET", `/devices?orgId=${orgId}`)).body);
    expect(idsOf(await sorted("-lastSeenAt"))).toEqual(newest);
    expect(idsOf(await sorted("lastSeenAt"))).toEqual(newest.toReversed());
    const first = await sorted("hostname", "&limit=2");
    const { nextCursor } = first.pagination as { nextCursor: string };
    expect(idsOf(await sorted("hostname", `&limit=2&cursor=${nextCursor}`))).toEqual(named("C"));
    const other = await root.call("GET", `/devices?orgId=${orgId}&sort=lastSeenAt&cursor=${nextCursor}`);
    expect([other.status, other.body.code]).toEqual([400, "cursor_mismatch"]);
  });

  it.each([
    ["limit=0", 1],
    ["limit=1000", 100],
    ["limit=abc", 50],
    ["page=-1&limit=7", 7],
  ])("clamps %s", async (query, limit) => {
    const { status, body } = await root.call("GET", `/devices?${query}`);
    expect([status, body.pagination]).toEqual([200, expect.objectContaining({ page: 1, limit })]);
  });

  it.each([
    ["status=onlin", 400],
    ["status=online,onlin", 400],
    ["status=online&status=onlin", 400],
    ["sort=status", 400],
    ["os=plan9", 400],
    ["arch=mips", 400],
    ["agentVersionRange=newest", 400],
    ["address=192.0.2.0/40", 400],
    ["updateState=late", 400],
    ["orgId=x", 400],
    ["siteId=1", 400],
    ["groupId=", 400],
    [`search=${"x".repeat(256)}`, 400],
    ["search=a&search=b", 400],
    ["cursor=xyz", 400],
    ["cursor=WyIwMDAwLTAxLTAxVDAwOjAwOjAwLjAwMFoiLCJ4Il0", 400],
    [`orgId=${randomUUID()}`, 404],
  ])("answers %s with %d", async (query, expected) => {
    expect((await root.call("GET", `/devices?${query}`)).status).toBe(expected);
  });
});
