import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Api, api, type Reply } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { newOrganization, newPartner, newSite, operator, signedInAs } from "../support/users.ts";

let cluster: Cluster;
let root: Api;
let partnerId: string;
let orgId: string;
beforeAll(async () => {
  cluster = await sharedCluster();
  root = await operator(cluster);
  partnerId = await newPartner(cluster);
  orgId = await newOrganization(cluster, partnerId);
}, 180_000);

const idsOf = (body: { data?: unknown[] }) => ((body.data ?? []) as { id: string }[]).map(({ id }) => id);
const answer = ({ status, body }: Reply) => [status, body.error, body.code];
const orgDenied = [403, "Access to this organization denied", "organization_access_denied"];
const siteDenied = [403, "Access to this site denied", "site_access_denied"];
const missing = [404, "Site not found", "site_not_found"];

/** GET, PATCH and DELETE of one site. */
async function onSite(who: Api, id: string) {
  const path = `/orgs/sites/${id}`;
  const replies = [await who.call("GET", path), await who.call("PATCH", path, { name: "Mine" })];
  return [...replies, await who.call("DELETE", path)].map(answer);
}

describe("a site", () => {
  it("lives from 201 to its permanent deletion, each step audited once with its changes", async () => {
    const wanted = { orgId, name: "Berlin", timezone: "Europe/Berlin", address: { city: "Berlin" } };
    const { status, body } = await root.call("POST", "/orgs/sites", wanted);
    expect(status).toBe(201);
    expect(body).toEqual({
      ...wanted,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      contact: {},
      labels: {},
      settings: {},
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: body.createdAt,
    });
    const path = `/orgs/sites/${body.id}`;
    expect((await root.call("GET", path)).body).toEqual(body);
    const change = { orgId: randomUUID(), address: null, contact: { name: "Ada" }, settings: { a: 1 } };
    const changed = await root.call("PATCH", path, change);
    expect(changed.body).toMatchObject({
      orgId,
      name: "Berlin",
      address: {},
      contact: { name: "Ada" },
      settings: { a: 1 },
    });
    const none = { settings: ["Must be an object"] };
    for (const { status, body: refused } of [
      await root.call("PATCH", path, { contact: { name: "Eve" }, settings: null }),
      await root.call("POST", "/orgs/sites", { orgId, name: "Bonn", settings: null }),
    ]) {
      expect([status, refused.details]).toEqual([400, { formErrors: [], fieldErrors: none }]);
    }
    const gone = await root.call("DELETE", path);
    expect([gone.status, gone.body]).toEqual([200, { success: true }]);
    expect(await onSite(root, String(body.id))).toEqual([missing, missing, missing]);

    const rows = await until("three audit rows", async () => {
      const { body: logs } = await root.call("GET", `/audit-logs/logs?orgId=${orgId}&action=site.&limit=100`);
      const found = (logs.data ?? []) as { action: string; resource: { id: string }; details: object }[];
      const mine = found.filter((row) => row.resource.id === body.id);
      return mine.length >= 3 ? mine : null;
    });
    expect(rows.map((row) => row.action).sort()).toEqual(["site.create", "site.delete", "site.update"]);
    expect(rows.find((row) => row.action === "site.update")?.details).toMatchObject({
      changedFields: ["address", "contact", "settings"],
      changes: { before: { address: { city: "Berlin" } }, after: { contact: { name: "Ada" } } },
    });
  });

  it("is in UTC by default, and needs a recognised change", async () => {
    const id = await newSite(cluster, orgId);
    expect((await root.call("GET", `/orgs/sites/${id}`)).body.timezone).toBe("UTC");
    for (const body of [{}, { orgId: randomUUID() }, { unknown: true }]) {
      const reply = await root.call("PATCH", `/orgs/sites/${id}`, body);
      expect(answer(reply)).toEqual([400, "No updates provided", "no_updates"]);
    }
  });

  it("keeps labels that are not sent, and audits the change of those that are", async () => {
    const id = await newSite(cluster, orgId);
    const path = `/orgs/sites/${id}/labels`;
    await root.call("PATCH", path, { labels: { region: "eu", tier: "1" } });
    const { status, body } = await root.call("PATCH", path, { labels: { region: "us", tier: null, rack: "" } });
    expect([status, body.labels]).toEqual([200, { region: "us", rack: "" }]);
    expect((await root.call("GET", `/orgs/sites/${id}`)).body.labels).toEqual(body.labels);
    const row = await until("the audit row", async () => {
      const { body: logs } = await root.call("GET", `/audit-logs/logs?orgId=${orgId}&action=site.update&limit=100`);
      const found = (logs.data ?? []) as { resource: { id: string }; details: { changes: { after: object } } }[];
      return (
        found.find(
          ({ resource, details }) => resource.id === id && "rack" in Object(Object(details.changes.after).labels),
        ) ?? null
      );
    });
    expect(row.details.changes).toEqual({
      before: { labels: { region: "eu", tier: "1" } },
      after: { labels: { region: "us", rack: "" } },
    });
  });

  it.each([
    ["33 labels", Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`l${n}`, "x"]))],
    ["a label without a name", { "": "x" }],
    ["a name of 64 characters", { ["x".repeat(64)]: "x" }],
    ["a value of 256 characters", { region: "x".repeat(256) }],
    ["a value that is no text", { region: 7 }],
  ])("refuses %s and changes nothing", async (_name, labels) => {
    const id = await newSite(cluster, orgId);
    const reply = await root.call("PATCH", `/orgs/sites/${id}/labels`, { labels });
    expect([reply.status, reply.body.code]).toEqual([400, "validation_failed"]);
    expect((await root.call("GET", `/orgs/sites/${id}`)).body.labels).toEqual({});
  });

  const objects = ["text", 7, [], { a: "\u0000" }, { a: "\ud800" }, { a: "x".repeat(70_000) }];
  const bad: Record<string, unknown[]> = {
    name: ["", "  ", 7, null, {}, "a\u0000b", "\ud800", "x".repeat(256)],
    timezone: ["", "Mars/Base", "+01:00", 7, null, "x".repeat(51), "UTC\u0000"],
    address: objects,
    contact: objects,
    settings: objects,
  };
  it.each(Object.entries(bad))("refuses every bad %s by name and writes nothing", async (field, values) => {
    const own = await newOrganization(cluster, partnerId);
    const id = await newSite(cluster, own);
    const { body: before } = await root.call("GET", `/orgs/sites/${id}`);
    for (const value of values) {
      const replies = [
        await root.call("POST", "/orgs/sites", { orgId: own, name: "N", [field]: value }),
        await root.call("PATCH", `/orgs/sites/${id}`, { [field]: value }),
      ];
      for (const { status, body } of replies) {
        expect([value, status, body.code]).toEqual([value, 400, "validation_failed"]);
        const { fieldErrors } = body.details as { fieldErrors: object };
        expect(Object.keys(fieldErrors).every((name) => name.split(".")[0] === field)).toBe(true);
      }
    }
    const { body } = await root.call("GET", `/orgs/sites?orgId=${own}`);
    expect(body.data).toEqual([before]);
  });

  it.each([
    ["no organization", { name: "x" }],
    ["an organization that is no id", { name: "x", orgId: "nonsense" }],
  ])("is not created with %s", async (_name, body) => {
    const reply = await root.call("POST", "/orgs/sites", body);
    expect([reply.status, reply.body.code]).toEqual([400, "validation_failed"]);
  });

  it("is not created from a megabyte", async () => {
    const reply = await root.call("POST", "/orgs/sites", { orgId, name: "x", settings: { a: "x".repeat(1_000_000) } });
    expect(reply.status).toBe(413);
  });
});

describe("sites of callers", () => {
  it("are those of organizations in scope; others answer 403 with the documented texts", async () => {
    const own = await newPartner(cluster);
    const [one, two] = [await newOrganization(cluster, own), await newOrganization(cluster, own)];
    const [a, b] = [await newSite(cluster, one, { name: "A" }), await newSite(cluster, two, { name: "B" })];
    const [admin, listed, none, member] = await Promise.all([
      signedInAs(cluster, "partner-admin", { partnerId: own, orgAccess: "all" }),
      signedInAs(cluster, "partner-admin", { partnerId: own, orgAccess: "selected", orgIds: [one] }),
      signedInAs(cluster, "partner-admin", { partnerId: own, orgAccess: "none" }),
      signedInAs(cluster, "org-admin", { partnerId: own, orgId: one }),
    ]);
    const list = async (who: Api, query = "") => idsOf((await who.call("GET", `/orgs/sites${query}`)).body);
    expect(await list(admin.api)).toEqual([a, b]);
    expect(await list(admin.api, `?organizationId=${two}`)).toEqual([b]);
    expect(await list(listed.api)).toEqual([a]);
    expect(await list(none.api)).toEqual([]);
    expect(await list(member.api)).toEqual([a]);
    for (const who of [listed.api, none.api, member.api]) {
      expect(answer(await who.call("GET", `/orgs/sites?orgId=${two}`))).toEqual(orgDenied);
      expect(answer(await who.call("POST", "/orgs/sites", { orgId: two, name: "x" }))).toEqual(orgDenied);
      expect(await onSite(who, b)).toEqual([siteDenied, siteDenied, siteDenied]);
      expect(await onSite(who, randomUUID())).toEqual([missing, missing, missing]);
    }
    expect((await member.api.call("POST", "/orgs/sites", { orgId: one, name: "Mine" })).status).toBe(201);
    expect((await root.call("GET", `/orgs/sites/${b}`)).body.name).toBe("B");
    // System callers have everything in scope: a record that they do not find is missing.
    const nowhere = randomUUID();
    const noOrganization = [404, "Organization not found", "organization_not_found"];
    expect(answer(await root.call("GET", `/orgs/sites?orgId=${nowhere}`))).toEqual(noOrganization);
    expect(answer(await root.call("POST", "/orgs/sites", { orgId: nowhere, name: "x" }))).toEqual(noOrganization);
  });

  it("are filtered for callers limited to some, who cannot change what concerns the whole organization", async () => {
    const own = await newOrganization(cluster, partnerId);
    const [mine, other] = [await newSite(cluster, own), await newSite(cluster, own)];
    const membership = { partnerId, orgId: own, siteIds: [mine] };
    const { api: limited } = await signedInAs(cluster, "org-admin", membership);
    const { body } = await limited.call("GET", "/orgs/sites");
    expect([idsOf(body), body.pagination]).toEqual([[mine], { page: 1, limit: 50, total: 1, nextCursor: null }]);
    expect(answer(await limited.call("GET", `/orgs/sites/${other}`))).toEqual(siteDenied);
    for (const [method, path, change] of [
      ["POST", "/orgs/sites", { orgId: own, name: "x" }],
      ["DELETE", `/orgs/sites/${mine}`, undefined],
    ] as const) {
      const reply = await limited.call(method, path, change);
      expect([reply.status, reply.body.code]).toEqual([403, "site_restricted"]);
    }
  });

  it("in a deleted organization are there for system callers only", async () => {
    const own = await newOrganization(cluster, partnerId);
    const id = await newSite(cluster, own);
    const { api: admin } = await signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "all" });
    await root.call("DELETE", `/orgs/organizations/${own}`);
    expect(answer(await admin.call("GET", `/orgs/sites?orgId=${own}`))).toEqual(orgDenied);
    expect(await onSite(admin, id)).toEqual([siteDenied, siteDenied, siteDenied]);
    expect(idsOf((await root.call("GET", `/orgs/sites?orgId=${own}`)).body)).toEqual([id]);
    expect((await root.call("GET", `/orgs/sites/${id}`)).status).toBe(200);
  });

  it("are returned in pages that are clamped and do not repeat or skip", async () => {
    const own = await newOrganization(cluster, partnerId);
    for (let i = 0; i < 5; i++) await newSite(cluster, own, { name: "Same" });
    const all = idsOf((await root.call("GET", `/orgs/sites?orgId=${own}&limit=1000`)).body);
    const seen: string[] = [];
    let cursor = "";
    do {
      const { body } = await root.call("GET", `/orgs/sites?orgId=${own}&limit=2${cursor}`);
      seen.push(...idsOf(body));
      const { nextCursor } = body.pagination as { nextCursor: string | null };
      cursor = nextCursor ? `&cursor=${encodeURIComponent(nextCursor)}` : "";
    } while (cursor);
    expect(seen).toEqual(all);
    for (const [query, limit] of [
      ["limit=0", 1],
      ["limit=1000", 100],
      ["limit=abc", 50],
      ["page=-1", 50],
    ] as const) {
      const { body } = await root.call("GET", `/orgs/sites?orgId=${own}&${query}`);
      expect(body.pagination).toMatchObject({ page: 1, limit, total: 5 });
    }
  });

  it("are refused without a session", async () => {
    const path = `/orgs/sites/${await newSite(cluster, orgId)}`;
    for (const [method, at] of [
      ["GET", "/orgs/sites"],
      ["POST", "/orgs/sites"],
      ["GET", path],
      ["PATCH", path],
      ["DELETE", path],
    ] as const) {
      expect((await api(cluster).call(method, at, method === "GET" ? undefined : {})).status).toBe(401);
    }
  });
});
