import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { type Api, api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { enroller } from "../support/enroller.ts";
import { newKey } from "../support/keys.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { auditRows } from "../support/tenant-with-admins.ts";
import { newOrganization, newPartner, newSite, operator, signedInAs } from "../support/users.ts";

type Result = { id: string; code: string | null; error: string | null };

let cluster: Cluster;
let root: Api;
let enroll: Awaited<ReturnType<typeof enroller>>;
let partnerId: string;
let orgId: string;
let siteId: string;
beforeAll(async () => {
  cluster = await sharedCluster();
  root = await operator(cluster);
  enroll = await enroller(cluster);
  partnerId = await newPartner(cluster);
  orgId = await newOrganization(cluster, partnerId);
  siteId = await newSite(cluster, orgId);
}, 180_000);

const codesOf = async (by: Api, path: string, body: object) => {
  const reply = await by.call("POST", path, body);
  expect({ path, status: reply.status }).toEqual({ path, status: 200 });
  return (reply.body.results as Result[]).map(({ id, code }) => [id, code]);
};
const update = (by: Api, deviceIds: string[], change: object) =>
  codesOf(by, "/devices/bulk-update", { deviceIds, change });
const decommission = (by: Api, deviceIds: string[]) => codesOf(by, "/devices/bulk-decommission", { deviceIds });
const one = async (id: string) => (await root.call("GET", `/devices/${id}`)).body;

describe("a change of several devices", () => {
  it("is made to each in the order of the call, with one audit row per device", async () => {
    const ids = [await enroll(orgId), await enroll(orgId), await enroll(orgId)];
    const [first = "", second = ""] = ids;
    const results = await update(root, [...ids, first.toUpperCase()], { siteId, autoUpdateEnabled: false });
    expect(results).toEqual(ids.map((id) => [id, null]));
    for (const id of ids) expect(await one(id)).toMatchObject({ siteId, autoUpdateEnabled: false });
    expect(await update(root, [second], { siteId: null })).toEqual([[second, null]]);
    expect(await one(second)).toMatchObject({ siteId: null, autoUpdateEnabled: false });
    for (const [id, changes] of [
      [first, 1],
      [second, 2],
    ] as const) {
      const rows = await auditRows(root, orgId, id, changes + 1);
      expect(rows.map(({ action }) => action)).toEqual([
        "device.create",
        ...Array.from({ length: changes }, () => "device.update"),
      ]);
    }
  });

  it("reports the reason for each refused device, and changes the others", async () => {
    const [active, gone, missing] = [await enroll(orgId), await enroll(orgId), randomUUID()];
    expect((await root.call("DELETE", `/devices/${gone}`)).status).toBe(200);
    const elsewhere = await newOrganization(cluster, partnerId);
    const other = await enroll(elsewhere);
    const reply = await root.call("POST", "/devices/bulk-update", {
      deviceIds: [gone, active, missing, other],
      change: { siteId },
    });
    expect(reply.body.results).toEqual([
      { id: gone, code: "device_decommissioned", error: expect.any(String) },
      { id: active, code: null, error: null },
      { id: missing, code: "device_not_found", error: expect.any(String) },
      { id: other, code: "site_not_found", error: expect.any(String) },
    ]);
    expect(await one(active)).toMatchObject({ siteId });
    expect(await one(other)).toMatchObject({ siteId: null, status: "offline" });
  });
});

describe("a decommissioning of several devices", () => {
  it("ends each, once; a repeat finds its work done", async () => {
    const ids = [await enroll(orgId), await enroll(orgId)];
    for (let time = 0; time < 2; time++) expect(await decommission(root, ids)).toEqual(ids.map((id) => [id, null]));
    for (const id of ids) {
      expect((await one(id)).status).toBe("decommissioned");
      const rows = await auditRows(root, orgId, id, 2);
      expect(rows.map(({ action }) => action)).toEqual(["device.create", "device.delete"]);
    }
  });
});

describe("a review of several devices", () => {
  it("approves, merges and rejects quarantined ones, each on its own", async () => {
    const hardwareId = randomUUID();
    const first = await enroll(orgId, { hardwareId, siteId });
    const [beside, rejected, merged] = [
      await enroll(orgId, { hardwareId }),
      await enroll(orgId, { hardwareId }),
      await enroll(orgId, { hardwareId }),
    ];
    const review = (deviceIds: string[], action: string) =>
      codesOf(root, "/devices/bulk-review", { deviceIds, action });
    const missing = randomUUID();
    expect(await review([beside, missing], "approve")).toEqual([
      [beside, null],
      [missing, "device_not_found"],
    ]);
    expect(await review([rejected, first], "reject")).toEqual([
      [rejected, null],
      [first, "device_not_quarantined"],
    ]);
    expect(await review([merged], "merge")).toEqual([[merged, null]]);
    const states = await Promise.all([first, beside, rejected, merged].map(one));
    expect(states.map(({ status }) => status)).toEqual(["decommissioned", "offline", "decommissioned", "offline"]);
    expect(states[3]).toMatchObject({ siteId });
  });

  it("is refused for 501 ids, and changes none", async () => {
    const hardwareId = randomUUID();
    await enroll(orgId, { hardwareId });
    const clone = await enroll(orgId, { hardwareId });
    const deviceIds = [clone, ...Array.from({ length: 500 }, () => randomUUID())];
    const refused = await root.call("POST", "/devices/bulk-review", { deviceIds, action: "approve" });
    expect([refused.status, Object.keys((refused.body.details as { fieldErrors: object }).fieldErrors)]).toEqual([
      400,
      ["deviceIds"],
    ]);
    expect(await one(clone)).toMatchObject({ status: "quarantined" });
    const served = await codesOf(root, "/devices/bulk-review", {
      deviceIds: deviceIds.slice(0, 500),
      action: "approve",
    });
    expect([served[0], served.length]).toEqual([[clone, null], 500]);
  }, 60_000);
});

describe("several devices in one call", () => {
  it("are those in the caller's scope: others are not found, and stay as they are", async () => {
    const neighbour = await newOrganization(cluster, partnerId);
    const selected = { partnerId, orgAccess: "selected" as const };
    const limited = { partnerId, orgId, siteIds: [siteId] };
    const users: [string, Api, Record<"sited" | "siteless" | "beside" | "foreign", boolean>][] = [
      [
        "partner",
        (await signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "all" })).api,
        { sited: true, siteless: true, beside: true, foreign: false },
      ],
      [
        "partner with a list",
        (await signedInAs(cluster, "partner-admin", { ...selected, orgIds: [neighbour] })).api,
        { sited: false, siteless: false, beside: true, foreign: false },
      ],
      [
        "organization",
        (await signedInAs(cluster, "org-admin", { partnerId, orgId })).api,
        { sited: true, siteless: true, beside: false, foreign: false },
      ],
      [
        "one site",
        (await signedInAs(cluster, "org-admin", limited)).api,
        { sited: true, siteless: false, beside: false, foreign: false },
      ],
    ];
    const otherPartnersOrg = await newOrganization(cluster, await newPartner(cluster));
    for (const [who, by, access] of users) {
      const ids = {
        sited: await enroll(orgId, { siteId }),
        siteless: await enroll(orgId),
        beside: await enroll(neighbour),
        foreign: await enroll(otherPartnersOrg),
      };
      const expected = Object.entries(ids).map(([key, id]) => [
        id,
        access[key as keyof typeof ids] ? null : "device_not_found",
      ]);
      const all = Object.values(ids);
      expect({ who, results: await update(by, all, { autoUpdateEnabled: false }) }).toEqual({ who, results: expected });
      expect({ who, results: await decommission(by, all) }).toEqual({ who, results: expected });
      for (const [id, code] of expected) {
        const untouched = { status: "offline", autoUpdateEnabled: true };
        const ended = { status: "decommissioned", autoUpdateEnabled: false };
        expect(await one(String(id))).toMatchObject(code === null ? ended : untouched);
      }
    }
  }, 120_000);

  it("need the permission of the change: viewers, other tenants and keys without the scope are refused", async () => {
    const deviceIds = [await enroll(orgId)];
    const calls = [
      ["/devices/bulk-update", { deviceIds, change: { autoUpdateEnabled: false } }],
      ["/devices/bulk-decommission", { deviceIds }],
      ["/devices/bulk-review", { deviceIds, action: "approve" }],
    ] as const;
    const viewer = (await signedInAs(cluster, "org-viewer", { partnerId, orgId })).api;
    const { key } = await newKey(root, orgId, { scopes: ["devices:read"] });
    for (const [path, body] of calls) {
      const denied = await viewer.call("POST", path, body);
      expect([denied.status, denied.body.code]).toEqual([403, "permission_denied"]);
      expect((await api(cluster).call("POST", path, body)).status).toBe(401);
      const headers = { "x-api-key": key, "content-type": "application/json" };
      const keyed = await fetch(`${cluster.url}/api/v1${path}`, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
      });
      expect([keyed.status, ((await keyed.json()) as { code: string }).code]).toEqual([403, "insufficient_scope"]);
    }
    expect(await one(deviceIds[0] ?? "")).toMatchObject({ status: "offline", autoUpdateEnabled: true });
  });

  it("are at most a hundred, at least one, and changed in something", async () => {
    const many = Array.from({ length: 101 }, () => randomUUID());
    for (const deviceIds of [many, [], ["x"]]) {
      const { status, body } = await root.call("POST", "/devices/bulk-decommission", { deviceIds });
      expect([status, body.code]).toEqual([400, "validation_failed"]);
    }
    const nothing = await root.call("POST", "/devices/bulk-update", { deviceIds: many.slice(1), change: {} });
    expect([nothing.status, nothing.body.code]).toEqual([400, "no_updates"]);
    const unknown = await update(root, many.slice(1), { autoUpdateEnabled: false });
    expect(unknown).toEqual(many.slice(1).map((id) => [id, "device_not_found"]));
  });
});
