import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import type { Api } from "../support/client.ts";
import { enroller } from "../support/enroller.ts";
import { newKey } from "../support/keys.ts";
import { ownTenant } from "../support/own-tenant.ts";
import { newOrganization, signedInAs } from "../support/users.ts";

const { cluster, tenant, call } = ownTenant();

type Item = {
  kind: string;
  record: { id: string; name: string } | null;
  count: number;
  sentence: string;
  link: string;
};
const attention = async (by: Api, query = "") => {
  const { status, body } = await by.call("GET", `/attention${query}`);
  expect({ status, unknown: body.unknownKinds }).toEqual({ status: 200, unknown: [] });
  return body.data as Item[];
};
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

describe("what needs attention", () => {
  it("is empty at first, then lists what ends, fails and waits, each with its page", async () => {
    const { admin, orgId } = tenant;
    expect(await attention(admin.api)).toEqual([]);
    await newKey(admin.api, orgId, { name: "soon", expiresAt: inDays(3) });
    await newKey(admin.api, orgId, { name: "later", expiresAt: inDays(30) });
    const enroll = await enroller(cluster);
    const hardwareId = randomUUID();
    await enroll(orgId, { hardwareId });
    const waiting = await enroll(orgId, { hardwareId });
    const { body } = await call("POST", "/directories", { name: "Entra ID", preset: "entra" });
    const directoryId = String(body.id);
    const bad = await fetch(`${cluster.url}/api/v1/scim/v2/Users/${randomUUID()}`, {
      headers: { authorization: `Bearer ${body.token}` },
    });
    expect(bad.status).toBe(404);
    const found = await until("the refused request", async () => {
      const items = await attention(admin.api);
      return items.some(({ kind }) => kind === "directory") ? items : null;
    });
    expect(found).toMatchObject([
      {
        kind: "directory",
        record: { id: directoryId, name: "Entra ID" },
        link: `/settings/directories/${directoryId}?orgId=${orgId}`,
      },
      { kind: "api_key", record: { name: "soon" }, link: `/keys?orgId=${orgId}&status=active` },
      { kind: "device", record: { id: waiting }, count: 1, link: `/devices/${waiting}` },
    ]);
    expect((await call("GET", `/directories/${directoryId}`)).body.health).toEqual({
      status: "failing",
      reason: found[0]?.sentence,
    });
    expect(await attention(tenant.partnerAdmin.api, `?orgId=${orgId}`)).toEqual(found);
  });

  it("has each kind only for who may read its records", async () => {
    const { orgId, partnerId } = tenant;
    const viewer = await signedInAs(cluster, "org-viewer", { orgId });
    const kinds = (items: Item[]) => items.map(({ kind }) => kind);
    expect(kinds(await attention(viewer.api))).toEqual(["api_key", "device"]);
    const { key } = await newKey(tenant.admin.api, orgId, { scopes: ["devices:read"] });
    const byKey = await fetch(`${cluster.url}/api/v1/attention`, { headers: { "x-api-key": key } });
    expect(kinds(((await byKey.json()) as { data: Item[] }).data)).toEqual(["device"]);
    const elsewhere = await newOrganization(cluster, partnerId);
    expect(await attention(tenant.partnerAdmin.api, `?orgId=${elsewhere}`)).toEqual([]);
    expect((await viewer.api.call("GET", `/attention?orgId=${elsewhere}`)).body.code).toBe("organization_not_found");
    expect((await viewer.api.call("GET", "/attention?orgId=x")).status).toBe(400);
  });
});
