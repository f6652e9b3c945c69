import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Api, api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { newOrganization, newPartner, newSite, operator, signedInAs } from "../support/users.ts";

let cluster: Cluster;
let root: Api;
let partnerId: string;
beforeAll(async () => {
  cluster = await sharedCluster();
  root = await operator(cluster);
  partnerId = await newPartner(cluster);
}, 180_000);

const slug = () => `o-${randomUUID()}`;
const idsOf = (body: { data?: unknown[] }) => ((body.data ?? []) as { id: string }[]).map(({ id }) => id);
const fieldsOf = (body: Record<string, unknown>) =>
  Object.keys((body.details as { fieldErrors?: object } | undefined)?.fieldErrors ?? {});

async function auditRows(orgId: string, action: string) {
  const { body } = await root.call("GET", `/audit-logs/logs?orgId=${orgId}&action=${action}&limit=100`);
  return (body.data ?? []) as { action: string; details: Record<string, unknown> }[];
}

describe("an organization", () => {
  it("is created with 201, every field there, shown alike everywhere, and audited once", async () => {
    const wanted = {
      partnerId,
      name: "Customer",
      slug: slug(),
      type: "internal",
      status: "trial",
      maxDevices: 10,
      contractStart: "2026-01-01T00:00:00.000Z",
      contractEnd: "2027-01-01T00:00:00.000Z",
      settings: { theme: "dark" },
      billingContact: { email: "bills@example.com" },
    };
    const { status, body } = await root.call("POST", "/orgs/organizations", wanted);
    expect(status).toBe(201);
    expect(body).toEqual({
      ...wanted,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      ssoConfig: {},
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: body.createdAt,
      deletedAt: null,
    });
    const id = String(body.id);
    expect((await root.call("GET", `/orgs/organizations/${id}`)).body).toEqual(body);
    const listed = await root.call("GET", `/orgs/organizations?partnerId=${partnerId}&limit=100`);
    expect((listed.body.data ?? []).find((o) => (o as { id: string }).id === id)).toEqual(body);
    const rows = await until("the audit row", async () => {
      const found = await auditRows(id, "organization.create");
      return found.length > 0 ? found : null;
    });
    expect(rows).toHaveLength(1);
    expect(rows[0]?.details).toMatchObject({ partnerId, status: "trial", type: "internal", changes: { before: {} } });
  });

  it("changes by PATCH: null clears, settings merge, its partner stays; the audit row names the fields", async () => {
    const id = await newOrganization(cluster, partnerId, { maxDevices: 3, settings: { a: 1, b: 2 } });
    const { status, body } = await root.call("PATCH", `/orgs/organizations/${id}`, {
      partnerId: randomUUID(),
      status: "suspended",
      maxDevices: null,
      settings: { b: null, c: 3 },
    });
    expect([status, body.status, body.maxDevices, body.settings]).toEqual([200, "suspended", null, { a: 1, c: 3 }]);
    expect(body.partnerId).toBe(partnerId);
    const [row] = await until("the audit row", async () => {
      const found = await auditRows(id, "organization.update");
      return found.length > 0 ? found : null;
    });
    expect(row?.details).toEqual({
      changedFields: ["status", "maxDevices", "settings"],
      changes: {
        before: { status: "active", maxDevices: 3, settings: { b: 2 } },
        after: { status: "suspended", maxDevices: null, settings: { c: 3 } },
      },
    });
  });

  it("has free-form objects that null clears", async () => {
    const id = await newOrganization(cluster, partnerId);
    const objects = { ssoConfig: { a: 1 }, billingContact: { name: "Ada" } };
    expect((await root.call("PATCH", `/orgs/organizations/${id}`, objects)).body).toMatchObject(objects);
    const cleared = await root.call("PATCH", `/orgs/organizations/${id}`, { ssoConfig: null, billingContact: null });
    expect(cleared.body).toMatchObject({ ssoConfig: {}, billingContact: {} });
  });

  it.each([[{}], [{ unknown: 1 }], [{ partnerId: randomUUID() }], [{ id: randomUUID(), createdAt: "x" }]])(
    "answers 400 to PATCH %j",
    async (body) => {
      const id = await newOrganization(cluster, partnerId);
      const reply = await root.call("PATCH", `/orgs/organizations/${id}`, body);
      expect([reply.status, reply.body.error, reply.body.code]).toEqual([400, "No updates provided", "no_updates"]);
    },
  );

  it("is not found after DELETE, and its slug and its place in the limit are free", async () => {
    const capped = await newPartner(cluster, { maxOrganizations: 1 });
    const wanted = { partnerId: capped, name: "Only", slug: slug() };
    const { body: first } = await root.call("POST", "/orgs/organizations", wanted);
    const full = await root.call("POST", "/orgs/organizations", { ...wanted, slug: slug() });
    expect([full.status, full.body.code, full.body.limit]).toEqual([409, "limit_reached", 1]);
    const gone = await root.call("DELETE", `/orgs/organizations/${first.id}`);
    expect([gone.status, gone.body]).toEqual([200, { success: true }]);
    for (const method of ["GET", "DELETE"]) {
      const reply = await root.call(method, `/orgs/organizations/${first.id}`);
      expect([reply.status, reply.body.error]).toEqual([404, "Organization not found"]);
    }
    expect((await root.call("POST", "/orgs/organizations", wanted)).status).toBe(201);
  });
});

describe("bad input of an organization", () => {
  const text = (max: number) => ["", 7, null, true, {}, "a\u0000b", "\ud800", "x".repeat(max + 1)];
  const objects = ["text", 7, [], true, { a: "\u0000" }, { a: "\ud800" }, { a: "x".repeat(70_000) }];
  const dates = ["yesterday", "2026-13-01", 7, {}, "1000-01-01", "\u0000"];
  const bad: Record<string, unknown[]> = {
    name: text(255),
    slug: [...text(100), "a b", "../x", "ä"],
    type: [7, null, "reseller", "x".repeat(200_000)],
    status: [7, null, "pending", "ACTIVE"],
    maxDevices: [-1, 1.5, "3", 2 ** 31, {}],
    contractStart: dates,
    contractEnd: dates,
    settings: objects,
    billingContact: objects,
  };
  const onlyOnCreation: Record<string, unknown[]> = { partnerId: [7, "nonsense", {}, "\u0000"] };

  it.each(Object.entries({ ...bad, ...onlyOnCreation }))(
    "names %s and writes nothing on POST",
    async (field, values) => {
      for (const value of values) {
        const wanted = { partnerId, name: "N", slug: slug(), [field]: value };
        const { status, body } = await root.call("POST", "/orgs/organizations", wanted);
        expect([value, status, body.code]).toEqual([value, 400, "validation_failed"]);
        expect(fieldsOf(body).every((name) => name.split(".")[0] === field)).toBe(true);
        if (field === "slug") continue;
        const again = await root.call("POST", "/orgs/organizations", { partnerId, name: "N", slug: wanted.slug });
        expect(again.status).toBe(201);
      }
    },
  );

  it.each(Object.entries(bad))("names %s and changes nothing on PATCH", async (field, values) => {
    const id = await newOrganization(cluster, partnerId);
    const { body: before } = await root.call("GET", `/orgs/organizations/${id}`);
    for (const value of values) {
      const { status, body } = await root.call("PATCH", `/orgs/organizations/${id}`, {
        status: "churned",
        [field]: value,
      });
      expect([value, status, body.code]).toEqual([value, 400, "validation_failed"]);
    }
    expect((await root.call("GET", `/orgs/organizations/${id}`)).body).toEqual(before);
  });

  it("is refused as a whole: prototypes, a megabyte, a contract that ends before it starts", async () => {
    const id = await newOrganization(cluster, partnerId);
    const path = `/orgs/organizations/${id}`;
    const proto = await root.call("PATCH", path, '{"settings":{"__proto__":{"admin":true}}}');
    expect([proto.status, proto.body.code]).toEqual([400, "validation_failed"]);
    const large = await root.call("PATCH", path, { settings: { a: "x".repeat(1_000_000) } });
    expect([large.status, large.body.code]).toEqual([413, "payload_too_large"]);
    const backwards = await root.call("PATCH", path, { contractStart: "2026-02-01", contractEnd: "2026-01-01" });
    expect([backwards.status, fieldsOf(backwards.body)]).toEqual([400, ["contractEnd"]]);
  });
});

describe("organizations of callers", () => {
  it("are those granted: all, a list, none; another partner's answer 404", async () => {
    const [a, b] = [
      await newOrganization(cluster, partnerId, { name: "A" }),
      await newOrganization(cluster, partnerId, { name: "B" }),
    ];
    const foreign = await newOrganization(cluster, await newPartner(cluster));
    const [all, listed, none] = await Promise.all([
      signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "all" }),
      signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "selected", orgIds: [b] }),
      signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "none" }),
    ]);
    expect(idsOf((await all.api.call("GET", "/orgs/")).body)).toEqual(expect.arrayContaining([a, b]));
    expect(idsOf((await listed.api.call("GET", "/orgs")).body)).toEqual([b]);
    const empty = await none.api.call("GET", "/orgs/organizations");
    expect(empty.body).toEqual({ data: [], pagination: { page: 1, limit: 50, total: 0, nextCursor: null } });
    for (const [user, id] of [
      [all, foreign],
      [listed, a],
      [none, b],
    ] as const) {
      for (const [method, body] of [["GET"], ["PATCH", { name: "Mine" }], ["DELETE"]] as const) {
        const reply = await user.api.call(method, `/orgs/organizations/${id}`, body);
        expect([reply.status, reply.body.error]).toEqual([404, "Organization not found"]);
      }
    }
    const denied = await listed.api.call("POST", "/orgs/organizations", { name: "x", slug: slug() });
    expect([denied.status, denied.body.code]).toEqual([403, "scope_not_allowed"]);
    const other = { name: "x", slug: slug(), partnerId: randomUUID() };
    const elsewhere = await all.api.call("POST", "/orgs/organizations", other);
    expect([elsewhere.status, elsewhere.body.error]).toEqual([403, "Access denied to this partner"]);
    const missing = await root.call("POST", "/orgs/organizations", { name: "x", slug: slug() });
    expect([missing.status, missing.body.error]).toEqual([400, "partnerId is required for system scope"]);
  });

  it("for an organization's user are their own, in the plain list alone", async () => {
    const orgId = await newOrganization(cluster, partnerId);
    const { api: mine } = await signedInAs(cluster, "org-admin", { partnerId, orgId });
    expect(idsOf((await mine.call("GET", "/orgs")).body)).toEqual([orgId]);
    for (const path of ["/orgs/organizations", `/orgs/organizations/${orgId}`]) {
      const reply = await mine.call("GET", path);
      expect([reply.status, reply.body.code]).toEqual([403, "scope_not_allowed"]);
    }
  });

  it("are ordered as the partner likes, cleaned of what does not exist", async () => {
    const own = await newPartner(cluster);
    const [a, b, c] = [
      await newOrganization(cluster, own),
      await newOrganization(cluster, own),
      await newOrganization(cluster, own),
    ];
    const { api: mine } = await signedInAs(cluster, "partner-admin", { partnerId: own, orgAccess: "all" });
    const wanted = { organizationOrder: [c, randomUUID(), b, c] };
    const { status, body } = await mine.call("PATCH", "/orgs/organizations/order", wanted);
    expect([status, body]).toEqual([200, { organizationOrder: [c, b, a] }]);
    const { body: partner } = await mine.call("GET", "/orgs/partners/me");
    expect(partner).toMatchObject({ id: own, settings: { organizationOrder: [c, b, a] } });
    expect((await mine.call("PATCH", "/orgs/organizations/order", {})).body.code).toBe("no_updates");
    for (const bad of [{ organizationOrder: null }, { organizationOrder: ["x"] }, { organizationOrder: [7] }]) {
      const reply = await mine.call("PATCH", "/orgs/organizations/order", bad);
      expect([reply.status, reply.body.code]).toEqual([400, "validation_failed"]);
    }
  });

  it("are refused without a session", async () => {
    const outsider = api(cluster);
    const path = `/orgs/organizations/${await newOrganization(cluster, partnerId)}`;
    const calls = [
      ["GET", "/orgs"],
      ["GET", "/orgs/organizations"],
      ["POST", "/orgs/organizations"],
      ["GET", path],
    ];
    calls.push(["PATCH", path], ["DELETE", path], ["PATCH", "/orgs/organizations/order"]);
    for (const [method = "", at = ""] of calls) {
      expect((await outsider.call(method, at, method === "GET" ? undefined : {})).status).toBe(401);
    }
    expect((await root.call("GET", path)).status).toBe(200);
    const { status } = await root.call("PATCH", "/orgs/organizations/order", { organizationOrder: [] });
    expect(status).toBe(403);
    await newSite(cluster, path.split("/").at(-1) ?? "");
  });
});
