import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Api, api, signIn } from "./client.ts";
import { type Cluster, sharedCluster } from "./cluster.ts";

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
      const { body } = await root.call("GET", "/audit-logs/logs?action=partner.create&limit=100");
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
    const stranger = api(cluster);
    const calls = [
      stranger.call("GET", "/orgs/partners"),
      stranger.call("POST", "/orgs/partners", { name: "x", slug: slug() }),
      stranger.call("GET", `/orgs/partners/${randomUUID()}`),
      stranger.call("GET", "/audit-logs/logs"),
    ];
    for (const reply of await Promise.all(calls)) expect(reply.status).toBe(401);
  });
});
