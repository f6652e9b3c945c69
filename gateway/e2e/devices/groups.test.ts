import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Api, api, signIn } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { auditedActions, enroller, newTenant } from "../support/enroller.ts";
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
const newGroup = async (orgId: string, change: object = {}) =>
  (await root.call("POST", "/device-groups", { orgId, name: "Group", ...change })).body.id as string;

describe("a device group", () => {
  it("is created, read, changed and deleted, each with its audit row", async () => {
    const { orgId, siteId } = await newTenant(root);
    const created = await root.call("POST", "/device-groups", { orgId, siteId, name: " Servers ", colour: "red" });
    expect(created.status).toBe(201);
    const id = created.body.id as string;
    expect(created.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      orgId,
      siteId,
      name: "Servers",
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: created.body.createdAt,
    });
    expect((await root.call("GET", `/device-groups/${id}`)).body).toEqual(created.body);
    const changed = await root.call("PATCH", `/device-groups/${id}`, { name: "All", siteId: null });
    expect([changed.status, changed.body]).toEqual([200, expect.objectContaining({ id, name: "All", siteId: null })]);
    const other = await newGroup(orgId, { siteId });
    expect(idsOf((await root.call("GET", `/device-groups?orgId=${orgId}`)).body)).toEqual([other, id]);
    expect(idsOf((await root.call("GET", `/device-groups?siteId=${siteId}`)).body)).toEqual([other]);
    expect((await root.call("DELETE", `/device-groups/${id}`)).body).toEqual({ success: true });
    const gone = await root.call("GET", `/device-groups/${id}`);
    expect([gone.status, gone.body.code]).toEqual([404, "device_group_not_found"]);
    const actions = await until("the audit rows", async () => {
      const found = await auditedActions(root, "device_group.", id);
      return found.length >= 3 && found;
    });
    expect(actions).toEqual(["device_group.create", "device_group.update", "device_group.delete"]);
  });

  it.each([
    ["name", { name: "" }],
    ["name", { name: null }],
    ["name", { name: "x".repeat(256) }],
    ["name", { name: "a\u0000" }],
    ["siteId", { siteId: "x" }],
    ["orgId", { orgId: "x" }],
  ])("is refused for its %s: %j", async (field, change) => {
    const { orgId } = await newTenant(root);
    const { status, body } = await root.call("POST", "/device-groups", { orgId, name: "G", ...change });
    expect([status, body.code]).toEqual([400, "validation_failed"]);
    expect(Object.keys((body.details as { fieldErrors: object }).fieldErrors)).toEqual([field]);
    expect(idsOf((await root.call("GET", `/device-groups?orgId=${orgId}`)).body)).toEqual([]);
  });

  it("needs an organization, and a site of it", async () => {
    const [own, other] = [await newTenant(root), await newTenant(root)];
    const attempt = async (body: object) => {
      const reply = await root.call("POST", "/device-groups", { name: "G", ...body });
      return [reply.status, reply.body.code];
    };
    expect(await attempt({})).toEqual([400, "organization_context_required"]);
    expect(await attempt({ orgId: randomUUID() })).toEqual([404, "organization_not_found"]);
    expect(await attempt({ orgId: own.orgId, siteId: other.siteId })).toEqual([404, "site_not_found"]);
  });

  it("is refused a change of nothing", async () => {
    const id = await newGroup((await newTenant(root)).orgId);
    for (const body of [{}, { orgId: randomUUID() }]) {
      const reply = await root.call("PATCH", `/device-groups/${id}`, body);
      expect([reply.status, reply.body.error]).toEqual([400, "No updates provided"]);
    }
  });
});

describe("membership", () => {
  it("is given and taken, in one call for many or for one", async () => {
    const { orgId } = await newTenant(root);
    const groupId = await newGroup(orgId);
    const [a, b, c] = [await enroll(orgId), await enroll(orgId), await enroll(orgId)] as const;
    const path = `/device-groups/${groupId}/devices`;
    const add = async (...deviceIds: string[]) => (await root.call("POST", path, { deviceIds })).body;
    expect([await add(a, b), await add(b, c), await add(a)]).toEqual([{ added: 2 }, { added: 1 }, { added: 0 }]);
    expect((await root.call("GET", `/devices/${a}`)).body.groupIds).toEqual([groupId]);
    expect(idsOf((await root.call("GET", `/devices?groupId=${groupId}`)).body)).toEqual([c, b, a]);
    expect((await root.call("DELETE", path, { deviceIds: [a, b] })).body).toEqual({ success: true });
    expect((await root.call("DELETE", `${path}/${c}`)).body).toEqual({ success: true });
    expect(idsOf((await root.call("GET", `/devices?groupId=${groupId}`)).body)).toEqual([]);
    const actions = await until("the audit rows", async () => {
      const found = await auditedActions(root, "device_group.", groupId);
      return found.length >= 5 && found;
    });
    expect(actions).toEqual(["device_group.create", ...Array(4).fill("device_group.update")]);
  });

  it("is refused for devices and groups that are not there", async () => {
    const [own, other] = [await newTenant(root), await newTenant(root)];
    const groupId = await newGroup(own.orgId);
    const [device, foreign] = [await enroll(own.orgId), await enroll(other.orgId)] as const;
    const add = async (id: string, body: unknown) => {
      const reply = await root.call("POST", `/device-groups/${id}/devices`, body);
      return [reply.status, reply.body.code];
    };
    expect(await add(groupId, { deviceIds: [device, foreign] })).toEqual([404, "device_not_found"]);
    expect(await add(randomUUID(), { deviceIds: [device] })).toEqual([404, "device_group_not_found"]);
    for (const deviceIds of [undefined, [], ["x"], [7], "all", Array(1_001).fill(device)]) {
      expect(await add(groupId, { deviceIds })).toEqual([400, "validation_failed"]);
    }
    expect(idsOf((await root.call("GET", `/devices?groupId=${groupId}`)).body)).toEqual([]);
  });

  it("goes with the group, and the group with its site", async () => {
    const { orgId, siteId } = await newTenant(root);
    const groupId = await newGroup(orgId, { siteId });
    const device = await enroll(orgId, { siteId });
    await root.call("POST", `/device-groups/${groupId}/devices`, { deviceIds: [device] });
    await root.call("DELETE", `/orgs/sites/${siteId}`);
    expect((await root.call("GET", `/device-groups/${groupId}`)).status).toBe(404);
    expect((await root.call("GET", `/devices/${device}`)).body).toMatchObject({ siteId: null, groupIds: [] });
  });

  it("and groups are shut to everybody without a session", async () => {
    const anonymous = api(cluster);
    const path = `/device-groups/${randomUUID()}`;
    const calls = [
      anonymous.call("GET", "/device-groups"),
      anonymous.call("POST", "/device-groups", { name: "G" }),
      anonymous.call("GET", path),
      anonymous.call("PATCH", path, { name: "G" }),
      anonymous.call("DELETE", path),
      anonymous.call("POST", `${path}/devices`, { deviceIds: [randomUUID()] }),
      anonymous.call("DELETE", `${path}/devices`, { deviceIds: [randomUUID()] }),
      anonymous.call("DELETE", `${path}/devices/${randomUUID()}`),
    ];
    for (const { status } of await Promise.all(calls)) expect(status).toBe(401);
  });
});
