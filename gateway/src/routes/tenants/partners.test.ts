import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { AppError } from "@muster/kit";
import { type FakeServices, startFakeServices } from "../../testing/fake-services.ts";
import { startTestGateway, type TestGateway } from "../../testing/test-gateway.ts";

let services: FakeServices;
let gateway: TestGateway;
let token: string;

beforeAll(async () => {
  services = await startFakeServices();
  gateway = await startTestGateway(services);
  token = (await services.signIn()).token;
});

afterAll(async () => {
  await gateway.close();
  await services.close();
});

async function call(
  method: string,
  path: string,
  body?: unknown,
  as: string = token,
  headers: Record<string, string> = {},
) {
  const reply = await fetch(`${gateway.url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${as}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: reply.status, headers: reply.headers, body: (await reply.json()) as Record<string, unknown> };
}

const id = "018f0000-0000-7000-8000-000000000001";
const at = timestampFromDate(new Date("2026-01-02T03:04:05.006Z"));
const stored = {
  id,
  name: "Acme",
  slug: "acme",
  type: "msp",
  plan: "free",
  status: "active",
  settingsJson: "{}",
  createdAt: at,
  updatedAt: at,
};
const shown = {
  id,
  name: "Acme",
  slug: "acme",
  type: "msp",
  plan: "free",
  status: "active",
  maxOrganizations: null,
  maxDevices: null,
  settings: {},
  ssoConfig: {},
  billingEmail: null,
  createdAt: "2026-01-02T03:04:05.006Z",
  updatedAt: "2026-01-02T03:04:05.006Z",
  deletedAt: null,
};

describe("partners", () => {
  it("are created with 201 and every field, absent ones null", async () => {
    let received: unknown;
    services.tenancy.createPartner = (request) => {
      received = request;
      return { partner: stored };
    };
    const { status, body } = await call("POST", "/orgs/partners", {
      name: " Acme ",
      slug: "acme",
      maxDevices: null,
      plan: "free",
    });
    expect([status, body]).toEqual([201, shown]);
    expect(received).toMatchObject({ name: "Acme", slug: "acme", type: "", plan: "free" });
    expect((received as { maxDevices?: number }).maxDevices).toBeUndefined();
  });

  it("are created under the client's Idempotency-Key, which only this call forwards", async () => {
    const seen: (string | null)[] = [];
    services.tenancy.createPartner = (_request, { requestHeader }) => {
      seen.push(requestHeader.get("muster-idempotency-key"));
      return { partner: stored };
    };
    services.tenancy.getPartner = (_request, { requestHeader }) => {
      seen.push(requestHeader.get("muster-idempotency-key"));
      return { partner: stored };
    };
    const body = { name: "n", slug: "s" };
    const longest = "~".repeat(255);
    const headersOf: Record<string, string>[] = [
      { "idempotency-key": longest },
      {},
      { "muster-idempotency-key": "forged" },
    ];
    for (const headers of headersOf) {
      expect((await call("POST", "/orgs/partners", body, token, headers)).status).toBe(201);
    }
    await call("GET", `/orgs/partners/${id}`, undefined, token, { "idempotency-key": "a key" });
    expect(seen).toEqual([longest, null, null, null]);
  });

  it.each(["", "a b", "x".repeat(256), "\u00e9"])("are not created under the key %j", async (key) => {
    services.tenancy.createPartner = () => {
      throw new Error("was asked");
    };
    const { status, body } = await call("POST", "/orgs/partners", { name: "n", slug: "s" }, token, {
      "idempotency-key": key,
    });
    expect([status, body.code]).toEqual([400, "validation_failed"]);
    expect(body.details).toMatchObject({ fieldErrors: { "Idempotency-Key": [expect.any(String)] } });
  });

  it("are listed with the clamped page, and null for a total that was not counted", async () => {
    let received: unknown;
    services.tenancy.listPartners = ({ page }) => {
      received = page;
      return { partners: [stored], page: { page: 1, limit: 100, nextCursor: "c" } };
    };
    const { status, body } = await call("GET", "/orgs/partners?page=-3&limit=1000&skipCount=true");
    expect(status).toBe(200);
    expect(received).toMatchObject({ page: 1, limit: 100, skipCount: true, cursor: "" });
    const nextCursor = expect.stringMatching(/^[\w-]{12}\.c$/);
    expect(body).toEqual({ data: [shown], pagination: { page: 1, limit: 100, total: null, nextCursor } });
    const cursor = (body.pagination as { nextCursor: string }).nextCursor;
    expect((await call("GET", `/orgs/partners?limit=2&cursor=${cursor}`)).status).toBe(200);
    expect(received).toMatchObject({ limit: 2, cursor: "c" });
    expect(await call("GET", `/orgs/partners?search=a&cursor=${cursor}`)).toMatchObject({
      status: 400,
      body: { code: "cursor_mismatch", details: { fieldErrors: { cursor: [expect.any(String)] } } },
    });
  });

  it.each([
    ["abc", 50],
    ["", 50],
    ["0", 1],
    ["-5", 1],
    ["7.9", 7],
    ["1e9", 100],
  ])("take limit=%j as %d", async (limit, expected) => {
    let received: number | undefined;
    services.tenancy.listPartners = ({ page }) => {
      received = page?.limit;
      return { partners: [], page: { page: 1, limit: page?.limit ?? 0, total: 0n } };
    };
    expect((await call("GET", `/orgs/partners?limit=${limit}`)).status).toBe(200);
    expect(received).toBe(expected);
  });

  it("accept their id in either case, and answer 400 for an invalid id", async () => {
    let received: string | undefined;
    services.tenancy.getPartner = (request) => {
      received = request.id;
      return { partner: stored };
    };
    expect((await call("GET", `/orgs/partners/${id.toUpperCase()}`)).body).toEqual(shown);
    expect(received).toBe(id);
    const { status, body } = await call("GET", "/orgs/partners/nonsense");
    expect([status, body.code]).toEqual([400, "validation_failed"]);
    expect((await call("GET", `/orgs/partners/${"x".repeat(600)}`)).status).toBe(400);
  });

  it("forward typed errors of tenancy with their facts", async () => {
    services.tenancy.getPartner = () => {
      throw new AppError("partner_not_found", "Partner not found");
    };
    services.tenancy.createPartner = () => {
      throw new AppError("limit_reached", "Too many partners", { facts: { limit: 3 } });
    };
    const missing = await call("GET", `/orgs/partners/${id}`);
    expect([missing.status, missing.body]).toEqual([
      404,
      { error: "Partner not found", code: "partner_not_found", requestId: missing.headers.get("x-request-id") },
    ]);
    const full = await call("POST", "/orgs/partners", { name: "n", slug: "s" });
    expect([full.status, full.body.limit]).toEqual([409, 3]);
  });

  it("reveal nothing of a service's internal failure", async () => {
    services.tenancy.getPartner = () => {
      throw new Error("relation partners does not exist");
    };
    const { status, body } = await call("GET", `/orgs/partners/${id}`);
    expect([status, body.error, body.code]).toEqual([500, "Internal server error", "internal"]);
  });

  it("do not report a service's refusal of the gateway's token as the client's error", async () => {
    services.tenancy.getPartner = () => {
      throw new AppError("unauthenticated", "Caller is not authenticated");
    };
    const { status, body, headers } = await call("GET", `/orgs/partners/${id}`);
    expect([status, body.code, headers.get("retry-after")]).toEqual([503, "unavailable", "1"]);
  });

  it("answer 403 before the input is validated: permission, then scope", async () => {
    const { token: bare } = await services.signIn({ permissions: ["audit:read"], scope: "partner" });
    const { token: partner } = await services.signIn({ scope: "partner" });
    const denied = await call("POST", "/orgs/partners", { name: 1 }, bare);
    expect([denied.status, denied.body.code, denied.body.required]).toEqual([
      403,
      "permission_denied",
      "organizations:write",
    ]);
    const elsewhere = await call("POST", "/orgs/partners", { name: 1 }, partner);
    expect([elsewhere.status, elsewhere.body.code]).toEqual([403, "scope_not_allowed"]);
  });

  it("refuse a repeated query parameter", async () => {
    const { status, body } = await call("GET", "/orgs/partners?limit=1&limit=2");
    expect([status, body.code]).toEqual([400, "validation_failed"]);
  });
});

describe("audit logs", () => {
  const row = {
    id,
    orgId: "",
    seq: 7n,
    timestamp: at,
    actorType: "user",
    actorId: id,
    actorEmail: "ada@example.com",
    action: "partner.create",
    category: "system",
    resourceType: "partner",
    resourceId: id,
    detailsJson: '{"changes":{}}',
    ipAddress: "192.0.2.1",
    result: "success",
    checksum: "c7",
  };

  it("show rows in the documented shape, with totalPages", async () => {
    let received: unknown;
    services.audit.listLogs = (request) => {
      received = request;
      return { logs: [row], page: { page: 2, limit: 10, total: 21n } };
    };
    const query = `page=2&limit=10&user=Ada&action=partner&resource=acme&from=2026-01-01&to=2026-02-01T00:00:00%2B01:00&orgId=${id.toUpperCase()}&excludeActions=user.login,user.logout`;
    const { status, body } = await call("GET", `/audit-logs/logs?${query}`);
    expect(status).toBe(200);
    expect(received).toMatchObject({
      orgId: id,
      user: "Ada",
      action: "partner",
      resource: "acme",
      from: timestampFromDate(new Date("2026-01-01T00:00:00Z")),
      to: timestampFromDate(new Date("2026-01-31T23:00:00Z")),
      excludeActions: ["user.login", "user.logout"],
    });
    expect(body.pagination).toEqual({
      page: 2,
      limit: 10,
      total: 21,
      totalPages: 3,
      nextCursor: null,
      totalIsEstimate: false,
      searchedTo: null,
    });
    expect(body.data).toEqual([
      {
        id,
        timestamp: "2026-01-02T03:04:05.006Z",
        orgId: null,
        actorType: "user",
        user: { id, name: null, email: "ada@example.com", role: null },
        action: "partner.create",
        resource: { type: "partner", id, name: null },
        targets: [],
        category: "system",
        result: "success",
        errorMessage: null,
        ipAddress: "192.0.2.1",
        userAgent: null,
        sessionId: null,
        details: { changes: {} },
        seq: 7,
        checksum: "c7",
        prevChecksum: null,
      },
    ]);
  });

  it("have no total and no totalPages under skipCount", async () => {
    services.audit.listLogs = () => ({ logs: [], page: { page: 1, limit: 50 } });
    const { body } = await call("GET", "/audit-logs/logs?skipCount=true");
    expect(body.pagination).toMatchObject({ total: null, totalPages: null });
  });

  it.each(["from=yesterday", "to=2026-13-01", "orgId=x", "skipCount=maybe", "from=2026-01-01T00:00:00"])(
    "refuse %s",
    async (query) => {
      const { status, body } = await call("GET", `/audit-logs/logs?${query}`);
      expect([status, body.code]).toEqual([400, "validation_failed"]);
    },
  );

  it("need audit:read", async () => {
    const { token: other } = await services.signIn({ permissions: ["organizations:read"] });
    const { status, body } = await call("GET", `/audit-logs/logs/${id}`, undefined, other);
    expect([status, body.required]).toEqual([403, "audit:read"]);
  });
});
