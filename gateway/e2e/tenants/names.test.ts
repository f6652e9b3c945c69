import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import type { Api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { enroller } from "../support/enroller.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { newOrganization, newPartner, newSite, operator, signedInAs } from "../support/users.ts";

let cluster: Cluster;
let root: Api;
const own: Record<string, string> = {};
const foreign: Record<string, string> = {};

/** One record of each kind. */
async function fill(ids: Record<string, string>): Promise<void> {
  ids.partner = await newPartner(cluster);
  ids.organization = await newOrganization(cluster, ids.partner, { name: "Acme" });
  ids.site = await newSite(cluster, ids.organization, { name: "Berlin" });
  const enroll = await enroller(cluster);
  ids.device = await enroll(ids.organization, { siteId: ids.site, hostname: "web-01" });
  const group = await root.call("POST", "/device-groups", { orgId: ids.organization, name: "Canaries" });
  ids.device_group = String(group.body.id);
  ids.user = (await signedInAs(cluster, "org-viewer", { partnerId: ids.partner, orgId: ids.organization })).id;
}

beforeAll(async () => {
  cluster = await sharedCluster();
  root = await operator(cluster);
  await fill(own);
  await fill(foreign);
}, 180_000);

const kindsFor = async (by: Api, ids: Record<string, string>) => {
  const { status, body } = await by.call("GET", `/names?ids=${Object.values(ids).join(",")}`);
  expect(status).toBe(200);
  const found = body.data as { id: string; kind: string }[];
  for (const { id, kind } of found) expect({ kind, id: ids[kind] }).toEqual({ kind, id });
  return found.map(({ kind }) => kind).sort();
};

const all = ["device", "device_group", "organization", "partner", "site", "user"];
const withoutPartner = all.filter((kind) => kind !== "partner");

describe("names of ids", () => {
  it("are returned with kind and place, each once, in one call", async () => {
    const { device = "", organization = "" } = own;
    const { body } = await root.call("GET", `/names?ids=${device},${organization},${device.toUpperCase()}`);
    const expected = [
      { id: device, kind: "device", name: "web-01", partnerId: own.partner, orgId: organization },
      { id: organization, kind: "organization", name: "Acme", partnerId: own.partner, orgId: organization },
    ];
    expect(body.data).toHaveLength(2);
    expect(body.data).toEqual(expect.arrayContaining(expected));
  });

  it("are returned for records within the caller's scope, and for no others", async () => {
    const { partner: partnerId = "", organization: orgId = "" } = own;
    const selected = { partnerId, orgAccess: "selected" as const };
    const neighbour = await newOrganization(cluster, partnerId);
    const users: [Api, string[]][] = [
      [root, all],
      [(await signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "all" })).api, all],
      [(await signedInAs(cluster, "partner-admin", { ...selected, orgIds: [orgId] })).api, all],
      [(await signedInAs(cluster, "partner-admin", { ...selected, orgIds: [neighbour] })).api, ["partner"]],
      [(await signedInAs(cluster, "org-viewer", { partnerId, orgId })).api, withoutPartner],
      [(await signedInAs(cluster, "org-viewer", { partnerId, orgId: neighbour })).api, []],
    ];
    for (const [by, kinds] of users) {
      expect(await kindsFor(by, own)).toEqual(kinds);
      expect(await kindsFor(by, foreign)).toEqual(by === root ? all : []);
    }
  });

  it("are returned to a user of one site for that site only, and not for deleted records", async () => {
    const { partner: partnerId = "", organization: orgId = "" } = own;
    const other = await newSite(cluster, orgId);
    const limited = await signedInAs(cluster, "org-viewer", { partnerId, orgId, siteIds: [other] });
    expect(await kindsFor(limited.api, { ...own, site: other })).toEqual(["organization", "site", "user"]);
    expect(await kindsFor(limited.api, own)).toEqual(["organization", "user"]);
    const gone = await newOrganization(cluster, partnerId);
    const site = await newSite(cluster, gone);
    const viewer = await signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "all" });
    expect(await kindsFor(viewer.api, { organization: gone, site })).toEqual(["organization", "site"]);
    expect((await root.call("DELETE", `/orgs/organizations/${gone}`)).status).toBe(200);
    expect(await kindsFor(viewer.api, { organization: gone, site })).toEqual([]);
  });

  it("are refused for more than a hundred ids, for invalid ids, and without a credential", async () => {
    const many = Array.from({ length: 101 }, () => randomUUID()).join(",");
    for (const ids of [many, "x", `${own.device},x`]) {
      const { status, body } = await root.call("GET", `/names?ids=${ids}`);
      expect([status, body.code]).toEqual([400, "validation_failed"]);
    }
    expect((await root.call("GET", `/names?ids=${many.slice(37)}`)).body).toEqual({ data: [] });
    expect((await root.call("GET", "/names")).body).toEqual({ data: [] });
  });
});
