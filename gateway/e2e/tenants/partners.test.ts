import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Api, api, signIn } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { newOrganization, newPartner, signedInAs } from "../support/users.ts";

let cluster: Cluster;
let root: Api;
beforeAll(async () => {
  cluster = await sharedCluster();
  root = api(cluster, (await signIn(cluster)).accessToken);
}, 180_000);

const slug = () => `p-${randomUUID()}`;

describe("creating a partner", () => {
  it("answers 201 with the partner, every field there", async () => {
    const wanted = {
      name: "Acme MSP",
      slug: slug(),
      type: "enterprise",
      plan: "pro",
      maxOrganizations: 3,
      maxDevices: 100,
      billingEmail: "billing@example.com",
    };
    const { status, body } = await root.call("POST", "/orgs/partners", wanted);
    expect(status).toBe(201);
    expect(body).toEqual({
      ...wanted,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: "active",
      settings: {},
      ssoConfig: {},
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: body.createdAt,
      deletedAt: null,
    });
    expect((await root.call("GET", `/orgs/partners/${body.id}`)).body).toEqual(body);
  });

  it("leaves one sealed audit row with actor, address and the values after", async () => {
    const { body: partner } = await root.call(
      "POST",
      "/orgs/partners",
      { name: "Audited", slug: slug() },
      {
        "user-agent": "e2e/1.0",
      },
    );
    const row = await until("the audit row", async () => {
      const { body } = await root.call("GET", `/audit-logs/logs?action=partner.create&resourceId=${partner.id}`);
      const rows = (body.data ?? []) as { resource: { id: string } }[];
      return rows.find((r) => r.resource.id === partner.id);
    });
    expect(row).toMatchObject({
      action: "partner.create",
      category: "system",
      result: "success",
      user: { email: "admin@muster.local", role: "platform-admin" },
      resource: { type: "partner", id: partner.id, name: "Audited" },
      ipAddress: "127.0.0.1",
      userAgent: "e2e/1.0",
      details: { changes: { before: {}, after: { name: "Audited", plan: "free" } } },
    });
    const one = await root.call("GET", `/audit-logs/logs/${(row as unknown as { id: string }).id}`);
    expect(one.body).toEqual(row);
  });

  it("refuses a slug that is taken, whatever its case", async () => {
    const taken = slug();
    await root.call("POST", "/orgs/partners", { name: "First", slug: taken });
    const { status, body } = await root.call("POST", "/orgs/partners", { name: "Second", slug: taken.toUpperCase() });
    expect([status, body.code]).toEqual([409, "slug_taken"]);
  });

  it.each([
    ["name", {}],
    ["name", { name: "" }],
    ["name", { name: "x".repeat(256) }],
    ["name", { name: 7 }],
    ["name", { name: null }],
    ["name", { name: "a\u0000b" }],
    ["name", { name: "\ud800" }],
    ["slug", { slug: "two words" }],
    ["slug", { slug: "x".repeat(101) }],
    ["slug", { slug: "" }],
    ["type", { type: "reseller" }],
    ["plan", { plan: 1 }],
    ["maxOrganizations", { maxOrganizations: -1 }],
    ["maxOrganizations", { maxOrganizations: 1.5 }],
    ["maxDevices", { maxDevices: "3" }],
    ["maxDevices", { maxDevices: 2 ** 31 }],
    ["billingEmail", { billingEmail: "no mail" }],
  ])("answers 400 naming %s for %j and writes nothing", async (field, change) => {
    const wanted = {
      name: field === "name" && Object.keys(change).length === 0 ? undefined : "N",
      slug: slug(),
      ...change,
    };
    const { status, body } = await root.call("POST", "/orgs/partners", wanted);
    expect([status, body.code]).toEqual([400, "validation_failed"]);
    expect(Object.keys((body.details as { fieldErrors: object }).fieldErrors)).toEqual([field]);
    const { body: all } = await root.call("GET", "/orgs/partners?limit=100");
    expect(((all.data ?? []) as { slug: string }[]).some((p) => p.slug === wanted.slug)).toBe(false);
  });

  it.each([
    ["no JSON", "{", 400, "invalid_json"],
    ["an array", "[]", 400, "validation_failed"],
    ["a prototype", '{"__proto__":{"name":"x"},"slug":"y"}', 400, "validation_failed"],
    ["two megabytes", `{"name":"${"x".repeat(2_000_000)}"}`, 413, "payload_too_large"],
    ["deep nesting", `{"name":${"[".repeat(20_000)}${"]".repeat(20_000)}}`, 400, null],
  ])("answers a body that is %s with %d", async (_name, text, expected, code) => {
    const { status, body } = await root.call("POST", "/orgs/partners", text);
    expect(status).toBe(expected);
    if (code) expect(body.code).toBe(code);
  });
});

describe("reading partners", () => {
  it.each([
    ["limit=0", 1],
    ["limit=1000", 100],
    ["limit=abc", 50],
    ["limit=", 50],
    ["page=-1&limit=7", 7],
  ])("clamps %s", async (query, limit) => {
    const { status, body } = await root.call("GET", `/orgs/partners?${query}`);
    expect(status).toBe(200);
    expect(body.pagination).toMatchObject({ page: 1, limit });
    expect((body.data ?? []).length).toBeLessThanOrEqual(limit);
  });

  it("walks all pages by cursor without repeating or skipping", async () => {
    for (let i = 0; i < 5; i++) await root.call("POST", "/orgs/partners", { name: "Same name", slug: slug() });
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
      const { body } = await root.call("GET", `/orgs/partners?limit=3&skipCount=true${query}`);
      seen.push(...((body.data ?? []) as { id: string }[]).map((p) => p.id));
      cursor = (body.pagination as { nextCursor: string | null }).nextCursor;
    } while (cursor);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.length).toBeGreaterThanOrEqual(5);
  });

  it.each([
    [randomUUID(), 404, "partner_not_found"],
    ["nonsense", 400, "validation_failed"],
  ])("answers the id %s with %d %s", async (id, status, code) => {
    const reply = await root.call("GET", `/orgs/partners/${id}`);
    expect([reply.status, reply.body.code]).toEqual([status, code]);
  });

  it("needs a session on every route", async () => {
    const outsider = api(cluster);
    const calls = [
      outsider.call("GET", "/orgs/partners"),
      outsider.call("POST", "/orgs/partners", { name: "x", slug: slug() }),
      outsider.call("GET", `/orgs/partners/${randomUUID()}`),
      outsider.call("GET", "/audit-logs/logs"),
    ];
    for (const reply of await Promise.all(calls)) expect(reply.status).toBe(401);
  });
});

describe("changing a partner", () => {
  it("writes only the given fields, null clears, settings merge; one audit row records the changes", async () => {
    const { body: partner } = await root.call("POST", "/orgs/partners", { name: "Old", slug: slug(), maxDevices: 5 });
    const path = `/orgs/partners/${partner.id}`;
    await root.call("PATCH", path, { settings: { timezone: "UTC", contact: { name: "Ada", email: "a@example.com" } } });
    const change = { name: "New", status: "churned", maxDevices: null, settings: { contact: { email: null } } };
    const { status, body } = await root.call("PATCH", path, change);
    expect(status).toBe(200);
    expect(body).toEqual({
      ...partner,
      name: "New",
      status: "churned",
      maxDevices: null,
      settings: { timezone: "UTC", contact: { name: "Ada" } },
      updatedAt: body.updatedAt,
    });
    expect((await root.call("GET", path)).body).toEqual(body);
    const rows = await until("two audit rows", async () => {
      const { body: logs } = await root.call("GET", `/audit-logs/logs?action=partner.update&resourceId=${partner.id}`);
      const found = (logs.data ?? []) as { resource: { id: string }; details: { changedFields: string[] } }[];
      const mine = found.filter((row) => row.resource.id === partner.id);
      return mine.length >= 2 ? mine : null;
    });
    expect(rows.map((row) => row.details.changedFields)).toEqual([
      ["name", "status", "maxDevices", "settings"],
      ["settings"],
    ]);
  });

  it.each([[{}], [{ unknown: 1 }], [{ id: randomUUID(), createdAt: null, deletedAt: null }]])(
    "answers 400 to PATCH %j",
    async (body) => {
      const reply = await root.call("PATCH", `/orgs/partners/${await newPartner(cluster)}`, body);
      expect([reply.status, reply.body.error, reply.body.code]).toEqual([400, "No updates provided", "no_updates"]);
    },
  );

  const bad: Record<string, unknown[]> = {
    name: ["", "  ", 7, null, "a\u0000b", "\ud800", "x".repeat(256)],
    slug: ["", "a b", null, "x".repeat(101), "../x"],
    type: ["customer", null, 1],
    plan: ["gold", null],
    status: ["trial", "ACTIVE", null, 1],
    maxOrganizations: [-1, 1.5, "3", 2 ** 31],
    maxDevices: [-1, {}, true],
    billingEmail: ["no mail", 7, `${"x".repeat(250)}@example.com`],
    ssoConfig: ["x", [], { a: "\u0000" }],
    settings: [
      "x",
      [],
      { timezone: "Mars/Base" },
      { dateFormat: "D.M.Y" },
      { timeFormat: "am" },
      { language: "de" },
      { businessHours: { preset: "never" } },
      { businessHours: { preset: "custom", custom: { mon: { start: "9" } } } },
      { contact: { email: 7 } },
      { a: "x".repeat(70_000) },
    ],
  };
  it.each(Object.entries(bad))("refuses every bad %s by name and changes nothing", async (field, values) => {
    const path = `/orgs/partners/${await newPartner(cluster)}`;
    const { body: before } = await root.call("GET", path);
    for (const value of values) {
      const { status, body } = await root.call("PATCH", path, { plan: "pro", [field]: value });
      expect([value, status, body.code]).toEqual([value, 400, "validation_failed"]);
      const { fieldErrors } = body.details as { fieldErrors: object };
      expect(Object.keys(fieldErrors).every((name) => name.split(".")[0] === field)).toBe(true);
    }
    expect((await root.call("GET", path)).body).toEqual(before);
  });

  it("deletes softly and frees the slug", async () => {
    const wanted = { name: "Gone", slug: slug() };
    const { body: partner } = await root.call("POST", "/orgs/partners", wanted);
    const gone = await root.call("DELETE", `/orgs/partners/${partner.id}`);
    expect([gone.status, gone.body]).toEqual([200, { success: true }]);
    for (const [method, change] of [["GET"], ["PATCH", { name: "x" }], ["DELETE"]] as const) {
      const reply = await root.call(method, `/orgs/partners/${partner.id}`, change);
      expect([reply.status, reply.body.error]).toEqual([404, "Partner not found"]);
    }
    expect((await root.call("POST", "/orgs/partners", wanted)).status).toBe(201);
  });
});

describe("the own partner", () => {
  it("is read and changed by its administrators within their fields, and by no other partner's", async () => {
    const partnerId = await newPartner(cluster);
    const { api: mine } = await signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "all" });
    const change = { name: "Ours", billingEmail: "b@example.com", settings: { language: "en" }, plan: "unlimited" };
    const { status, body } = await mine.call("PATCH", "/orgs/partners/me", change);
    expect(status).toBe(200);
    const expected = {
      id: partnerId,
      name: "Ours",
      billingEmail: "b@example.com",
      plan: "free",
      settings: { language: "en" },
    };
    expect(body).toMatchObject(expected);
    expect((await mine.call("GET", "/orgs/partners/me")).body).toEqual(body);
    const only = await mine.call("PATCH", "/orgs/partners/me", { plan: "unlimited", status: "active" });
    expect([only.status, only.body.code]).toEqual([400, "no_updates"]);
    const row = await until("the audit row", async () => {
      const { body: logs } = await root.call(
        "GET",
        `/audit-logs/logs?action=partner.settings.update&resourceId=${partnerId}`,
      );
      return ((logs.data ?? []) as { resource: { id: string } }[]).find((r) => r.resource.id === partnerId);
    });
    expect(row).toMatchObject({ details: { changedFields: ["name", "billingEmail", "settings"] } });
    for (const path of ["/orgs/partners", `/orgs/partners/${partnerId}`]) {
      const reply = await mine.call("GET", path);
      expect([reply.status, reply.body.code]).toEqual([403, "scope_not_allowed"]);
    }
  });

  it("is not there for system and organization callers, and not changed by technicians", async () => {
    const partnerId = await newPartner(cluster);
    const orgId = await newOrganization(cluster, partnerId);
    const { api: member } = await signedInAs(cluster, "org-admin", { partnerId, orgId });
    const { api: technician } = await signedInAs(cluster, "partner-technician", { partnerId, orgAccess: "all" });
    for (const who of [root, member]) {
      const reply = await who.call("GET", "/orgs/partners/me");
      expect([reply.status, reply.body.code]).toEqual([403, "scope_not_allowed"]);
    }
    expect((await technician.call("GET", "/orgs/partners/me")).status).toBe(200);
    const denied = await technician.call("PATCH", "/orgs/partners/me", { name: "x" });
    expect([denied.status, denied.body.code]).toEqual([403, "permission_denied"]);
  });
});
