import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import pg from "pg";
import { type Api, api, type Reply } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { newOrganization, newTenant, type Tenant } from "../support/enroller.ts";
import { me, newKey, rateOf } from "../support/keys.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { operator, signedInAs } from "../support/users.ts";

let cluster: Cluster;
let root: Api;
let tenant: Tenant;
/** Made for one test: everything else waits until identity knows it. */
const cached = (orgId: string) =>
  until("the organization to arrive at identity", async () => {
    const reply = await root.call("POST", "/api-keys", { orgId, name: "First" });
    return reply.status === 201;
  });

beforeAll(async () => {
  cluster = await sharedCluster();
  root = await operator(cluster);
  tenant = await newTenant(root);
  await cached(tenant.orgId);
}, 180_000);

const withKey = (key: string, headers: Record<string, string> = {}) => ({
  call: (method: string, path: string, body?: unknown) =>
    api(cluster).call(method, path, body, { "x-api-key": key, ...headers }),
});
const seen = ({ status, body }: Reply) => [status, body.code];

/** Changes as the database's owner that no route makes, or not immediately. */
async function asOwner(text: string, values: unknown[]): Promise<void> {
  const client = new pg.Client({ connectionString: (await cluster.stack()).databaseUrl });
  await client.connect();
  try {
    await client.query(text, values);
  } finally {
    await client.end();
  }
}

describe("an API key", () => {
  it("may read its own identity, whatever its scopes", async () => {
    const { id, key } = await newKey(root, tenant.orgId, { name: "Reporter", scopes: ["devices:read"] });
    const reply = await me(cluster.url, key);
    expect(reply.status).toBe(200);
    expect(reply.headers.get("cache-control")).toBe("private, no-store");
    expect(reply.body).toEqual({
      actorType: "api_key",
      id,
      name: "Reporter",
      keyPrefix: key.slice(0, 12),
      scope: "organization",
      partnerId: tenant.partnerId,
      orgId: tenant.orgId,
      scopes: ["devices:read"],
      permissions: ["devices:read"],
      rateLimit: 1_000,
      expiresAt: null,
      principalId: null,
    });
    expect(rateOf(reply).limit).toBe(1_000);
  });

  it("decides alone beside a session or an agent's token: rights, audit rows and rate headers are the key's", async () => {
    const { orgId } = await newTenant(root);
    await cached(orgId);
    const { id, key } = await newKey(root, orgId, { scopes: ["sites:write"], rateLimit: 777 });
    const headers = { "x-api-key": key };
    // A session of this test alone: other suites use the operator's, too.
    const { api: admin } = await signedInAs(cluster, "platform-admin");
    const leftOf = async () => rateOf(await admin.call("GET", "/auth/me")).remaining;
    const before = await leftOf();

    const made = await admin.call("POST", "/orgs/sites", { orgId, name: "By whom" }, headers);
    expect(made.status).toBe(201);
    // The session could do both: only the key counts.
    const ofUsers = await admin.call("POST", "/users", {}, headers);
    expect(seen(ofUsers)).toEqual([403, "user_session_required"]);
    const elsewhere = await admin.call("POST", "/orgs/sites", { orgId: tenant.orgId, name: "Not the key's" }, headers);
    expect(seen(elsewhere)).toEqual([403, "organization_access_denied"]);
    const unreadable = await Promise.all(
      ["Bearer expired", "Bearer agt_unknown", "Basic eDp5"].map((authorization) =>
        withKey(key, { authorization }).call("GET", "/auth/me"),
      ),
    );
    expect(unreadable.map(({ status, body }) => [status, body.id])).toEqual(Array(3).fill([200, id]));

    const replies = [made, ofUsers, elsewhere, ...unreadable];
    expect(new Set(replies.map((reply) => rateOf(reply).limit))).toEqual(new Set([777]));
    expect(Math.min(...replies.map((reply) => rateOf(reply).remaining))).toBe(777 - replies.length);
    expect(before - (await leftOf())).toBe(1);

    type Row = { actorType: string; user: { id: string }; action: string; result: string };
    const rows = await until("the audit rows", async () => {
      const { body } = await root.call("GET", `/audit-logs/logs?orgId=${orgId}&limit=100`);
      const found = (body.data as Row[]).filter(({ user }) => user.id === id);
      return found.length >= 2 ? found : null;
    });
    expect(rows.map(({ actorType, action, result }) => `${actorType} ${action} ${result}`).sort()).toEqual([
      "api_key site.create success",
      "api_key user.create denied",
    ]);
  });

  it("acts inside its organization, by its scopes", async () => {
    const { key } = await newKey(root, tenant.orgId, { scopes: ["sites:read", "sites:write", "organizations:read"] });
    const program = withKey(key);
    const made = await program.call("POST", "/orgs/sites", { orgId: tenant.orgId, name: "By a program" });
    expect(made.status).toBe(201);
    const listed = await program.call("GET", "/orgs/sites");
    expect((listed.body.data as { orgId: string }[]).every(({ orgId }) => orgId === tenant.orgId)).toBe(true);
    const organizations = await program.call("GET", "/orgs");
    expect((organizations.body.data as { id: string }[]).map(({ id }) => id)).toEqual([tenant.orgId]);
    const elsewhere = await newOrganization(root, tenant.partnerId);
    const other = await program.call("POST", "/orgs/sites", { orgId: elsewhere, name: "Not mine" });
    expect(seen(other)).toEqual([403, "organization_access_denied"]);
  });

  it("leaves its name in the audit trail", async () => {
    const { id, key } = await newKey(root, tenant.orgId, { scopes: ["sites:write"], name: "Auditable" });
    await withKey(key).call("POST", "/orgs/sites", { orgId: tenant.orgId, name: "Audited" });
    const row = await until("the audit row", async () => {
      const { body } = await root.call("GET", `/audit-logs/logs?orgId=${tenant.orgId}&action=site.create&limit=100`);
      return (body.data as { actorType: string; user: { id: string; name: string } }[]).find((r) => r.user.id === id);
    });
    expect(row).toMatchObject({ actorType: "api_key", user: { name: "Auditable" } });
  });

  it.each<[string, string[], string, string, unknown[]]>([
    ["without a scope", [], "GET", "/devices", [403, "insufficient_scope"]],
    ["with another scope", ["devices:read"], "GET", "/orgs/sites", [403, "insufficient_scope"]],
    ["that may only read", ["sites:read"], "POST", "/orgs/sites", [403, "insufficient_scope"]],
    ["with the scope", ["devices:read"], "GET", "/devices", [200, undefined]],
    ["with every scope", ["*"], "GET", "/devices", [200, undefined]],
    ["with every scope, on keys", ["*"], "GET", "/api-keys", [403, "user_session_required"]],
    ["with every scope, on principals", ["*"], "GET", "/service-principals", [403, "user_session_required"]],
    ["with every scope, on people", ["*"], "GET", "/users", [403, "user_session_required"]],
    ["with every scope, on a logout", ["*"], "POST", "/auth/logout", [403, "user_session_required"]],
    ["with every scope, on a second factor", ["*"], "POST", "/auth/mfa/verify", [403, "user_session_required"]],
    ["with every scope, on partners", ["*"], "GET", "/orgs/partners", [403, "user_session_required"]],
    ["with every scope, above its place", ["*"], "GET", "/orgs/organizations", [403, "scope_not_allowed"]],
  ])("%s: %j %s %s", async (_name, scopes, method, path, expected) => {
    const { key } = await newKey(root, tenant.orgId, { scopes });
    const reply = await withKey(key).call(method, path);
    expect(seen(reply)).toEqual(expected);
    expect(rateOf(reply).remaining).toBe(999);
    if (expected[1] !== "insufficient_scope") return;
    expect(reply.body.error).toBe("API key does not have required permissions");
    expect(reply.body.requiredScopes).toEqual([expect.any(String)]);
  });
});

describe("a bad API key", () => {
  const unknown = () => {
    // Correct in form and checksum: only identity knows that there is no such key.
    const random = "AAAAAAAAAAAAAAAAAAAAAAAAAA";
    return `svc_${random}${checksumOf(random)}`;
  };

  it.each<[string, () => string, string, string]>([
    ["empty", () => "", "api_key_missing", "API key is missing"],
    ["without the prefix", () => "abc_123", "api_key_invalid_format", "API key has an invalid format"],
    ["too short", () => "svc_123", "api_key_invalid", "API key is invalid"],
    [
      "with a bad checksum",
      () => `svc_${randomBytes(24).toString("base64url")}`,
      "api_key_invalid",
      "API key is invalid",
    ],
    ["unknown", unknown, "api_key_invalid", "API key is invalid"],
  ])("%s is refused, also together with a valid session", async (_name, keyOf, code, error) => {
    const alone = await withKey(keyOf()).call("GET", "/auth/me");
    expect(seen(alone)).toEqual([401, code]);
    expect(alone.body.error).toBe(error);
    expect(alone.headers.get("www-authenticate")).toMatch(/^ApiKey/);
    expect(alone.headers.get("x-ratelimit-limit")).toBeNull();
    const both = await root.call("GET", "/auth/me", undefined, { "x-api-key": keyOf() });
    expect(seen(both)).toEqual([401, code]);
  });

  it("has the same reply when its checksum is bad as when it is unknown", async () => {
    const bare = ({ status, body, headers }: Reply) => {
      const { requestId: _, ...rest } = body;
      const lines = [...headers].filter(([name]) => !["x-request-id", "date"].includes(name));
      return { status, rest, lines };
    };
    const random = `svc_${randomBytes(24).toString("base64url")}`;
    const [bad, none] = [
      await withKey(random).call("GET", "/devices"),
      await withKey(unknown()).call("GET", "/devices"),
    ];
    expect(bare(bad)).toEqual(bare(none));
  });

  it("is ignored on routes without authentication", async () => {
    expect((await withKey("nonsense").call("GET", "/openapi.json")).status).toBe(200);
  });
});

describe("a key that was good", () => {
  it("is refused as revoked, as expired, as unknown after a rotation", async () => {
    const revoked = await newKey(root, tenant.orgId);
    await root.call("DELETE", `/api-keys/${revoked.id}`);
    expect(seen(await me(cluster.url, revoked.key))).toEqual([401, "api_key_revoked"]);

    const rotated = await newKey(root, tenant.orgId);
    const next = await root.call("POST", `/api-keys/${rotated.id}/rotate`);
    expect(seen(await me(cluster.url, rotated.key))).toEqual([401, "api_key_invalid"]);
    expect((await me(cluster.url, String(next.body.key))).status).toBe(200);

    const expiresAt = new Date(Date.now() + 2_000).toISOString();
    const expiring = await newKey(root, tenant.orgId, { expiresAt });
    expect((await me(cluster.url, expiring.key)).status).toBe(200);
    await until("its end", () => Date.now() > Date.parse(expiresAt) + 50);
    expect(seen(await me(cluster.url, expiring.key))).toEqual([401, "api_key_expired"]);
    const { body } = await root.call("GET", `/api-keys/${expiring.id}`);
    expect(body.status).toBe("expired");
  });

  it("loses a scope immediately when it is taken away", async () => {
    const { id, key } = await newKey(root, tenant.orgId, { scopes: ["devices:read", "sites:read"] });
    expect((await withKey(key).call("GET", "/devices")).status).toBe(200);
    expect((await root.call("PATCH", `/api-keys/${id}`, { scopes: ["sites:read"] })).status).toBe(200);
    expect(seen(await withKey(key).call("GET", "/devices"))).toEqual([403, "insufficient_scope"]);
  });

  it("is refused from other addresses than its own", async () => {
    const local = await newKey(root, tenant.orgId, { allowedIps: ["127.0.0.0/8", "::1"] });
    expect((await me(cluster.url, local.key)).status).toBe(200);
    const remote = await newKey(root, tenant.orgId, { allowedIps: ["192.0.2.0/24"] });
    expect(seen(await me(cluster.url, remote.key))).toEqual([403, "address_not_allowed"]);
    // A client's statements about itself are not verified.
    const claimed = await withKey(remote.key, { "x-forwarded-for": "192.0.2.7" }).call("GET", "/auth/me");
    expect(seen(claimed)).toEqual([403, "address_not_allowed"]);
  });

  it("waits while its organization or its partner is not active", async () => {
    const own = await newTenant(root);
    await cached(own.orgId);
    const { key } = await newKey(root, own.orgId, { scopes: ["devices:read"] });
    const code = async () => String((await withKey(key).call("GET", "/devices")).body.code ?? "admitted");
    expect(await code()).toBe("admitted");
    await root.call("PATCH", `/orgs/organizations/${own.orgId}`, { status: "suspended" });
    await until("the suspension", async () => (await code()) === "organization_inactive");
    expect((await me(cluster.url, key)).status).toBe(200);
    await root.call("PATCH", `/orgs/organizations/${own.orgId}`, { status: "active" });
    await until("the end of it", async () => (await code()) === "admitted");
    await root.call("PATCH", `/orgs/partners/${own.partnerId}`, { status: "suspended" });
    await until("the partner's suspension", async () => (await code()) === "partner_inactive");
  });

  it("goes on for the length of a rotation's grace, and not longer", async () => {
    const { id, key } = await newKey(root, tenant.orgId);
    await root.call("POST", `/api-keys/${id}/rotate`, { graceSeconds: 3_600 });
    expect((await me(cluster.url, key)).status).toBe(200);
    await asOwner(
      "UPDATE identity.api_keys SET previous_valid_until = now() + interval '1 s', version = version + 1 WHERE id = $1",
      [id],
    );
    await root.call("PATCH", `/api-keys/${id}`, { name: "Announced" });
    await until("the end of the grace", async () => (await me(cluster.url, key)).body.code === "api_key_invalid");
  });
});

/** As docs/api-keys.md says: CRC-32 of the random part, big-endian, as base64url. */
function checksumOf(random: string): string {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(random)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE((crc ^ 0xffffffff) >>> 0);
  return bytes.toString("base64url");
}
