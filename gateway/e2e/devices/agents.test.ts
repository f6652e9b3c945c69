import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { api } from "../support/client.ts";
import { agentWith, enrollAgent, machine } from "../support/enrolled-agent.ts";
import { ownTenant } from "../support/own-tenant.ts";
import { auditRows, tenantWithAdmins } from "../support/tenant-with-admins.ts";

const { cluster, tenant, call } = ownTenant();
const anybody = () => api(cluster);

async function newKey(maxUsage = 100) {
  const { body } = await call("POST", "/enrollment-keys", { name: "Fleet", maxUsage });
  return { id: String(body.id), key: String(body.key) };
}
const usesOf = async (id: string) => (await call("GET", `/enrollment-keys/${id}`)).body.usageCount;
const device = async (id: string) => (await call("GET", `/devices/${id}`)).body;

describe("enrolling an agent", () => {
  it("makes a device that its first heartbeat brings online", async () => {
    const { id: keyId, key } = await newKey();
    const wanted = machine({ watchdogVersion: "2.0.0", serialNumber: "S-1", labels: { room: "12" } });
    const reply = await anybody().call("POST", "/agents/enroll", { enrollmentKey: key, ...wanted });
    expect([reply.status, reply.headers.get("cache-control")]).toEqual([201, "no-store"]);
    const { token, ...rest } = reply.body;
    const { agentId } = rest;
    expect(rest).toEqual({
      agentId,
      deviceId: agentId,
      orgId: tenant.orgId,
      siteId: null,
      status: "offline",
      heartbeatIntervalSeconds: 60,
    });
    expect(token).toMatch(/^agt_[A-Za-z0-9_-]{43}$/);
    expect(await device(String(agentId))).toMatchObject({
      ...wanted,
      status: "offline",
      lastSeenAt: null,
      quarantineReason: null,
      enrollmentKeyId: expect.any(String),
      reported: null,
    });
    const agent = agentWith(cluster, String(agentId), String(token));
    const said = { metrics: { "cpu.percent": 3.5 }, ipAddresses: ["10.0.0.7", "fe80::1%eth0"], status: "ok" };
    const kept = { ...said, ipAddresses: ["10.0.0.7", "fe80::1"] };
    const beat = await agent.heartbeat(said);
    expect(beat.body).toEqual({
      status: "online",
      serverTime: expect.any(String),
      heartbeatIntervalSeconds: 60,
      upgradeTo: null,
      watchdogUpgradeTo: null,
      helperUpgradeTo: null,
      updates: [],
    });
    expect([beat.status, beat.headers.get("x-ratelimit-limit")]).toEqual([200, "100000"]);
    expect(await device(agent.id)).toMatchObject({ status: "online", lastIpAddress: "127.0.0.1", reported: kept });
    expect((await call("GET", "/devices?status=online&limit=100")).body.data).toContainEqual(
      expect.objectContaining({ id: agent.id }),
    );
    expect(await usesOf(keyId)).toBe(1);
    const rows = await auditRows(tenant.admin.api, tenant.orgId, agent.id, 1);
    expect(rows.map(({ action }) => action)).toEqual(["device.create"]);
  });

  it("lets one of 50 in at once when the key has one use", async () => {
    const { id, key } = await newKey(1);
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => anybody().call("POST", "/agents/enroll", { enrollmentKey: key, ...machine() })),
    );
    const statuses = replies.map(({ status, body }) => (status === 201 ? "in" : body.code));
    expect(statuses.filter((status) => status === "in")).toHaveLength(1);
    expect(new Set(statuses)).toEqual(new Set(["in", "enrollment_key_exhausted"]));
    expect(await usesOf(id)).toBe(1);
  });

  it("answers a repeat whose reply was lost with the same device and takes no second use", async () => {
    const { id, key } = await newKey(1);
    const wanted = machine();
    const lost = await enrollAgent(cluster, key, wanted);
    const found = await enrollAgent(cluster, key, wanted);
    expect(found.id).toBe(lost.id);
    expect((await found.heartbeat()).status).toBe(200);
    expect((await lost.heartbeat()).body.code).toBe("agent_token_invalid");
    expect(await usesOf(id)).toBe(1);
    const rows = await auditRows(tenant.admin.api, tenant.orgId, found.id, 1);
    expect(rows.map(({ action }) => action)).toEqual(["device.create"]);
  });

  it("accepts gzip, and distinguishes unknown, expired and exhausted keys", async () => {
    const { key } = await newKey();
    const zipped = gzipSync(JSON.stringify({ enrollmentKey: key, ...machine() }));
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    const reply = await fetch(`${cluster.url}/api/v1/agents/enroll`, { method: "POST", headers, body: zipped });
    expect(reply.status).toBe(201);
    for (const enrollmentKey of ["0".repeat(64), "nonsense", ""]) {
      const { status, body } = await anybody().call("POST", "/agents/enroll", { enrollmentKey, ...machine() });
      expect([status, body.code]).toEqual([401, "enrollment_key_invalid"]);
    }
    const expiresAt = new Date(Date.now() + 1_500).toISOString();
    const short = (await call("POST", "/enrollment-keys", { name: "short", expiresAt })).body.key;
    await until("the expiry", () => Date.now() > Date.parse(expiresAt));
    const late = await anybody().call("POST", "/agents/enroll", { enrollmentKey: short, ...machine() });
    expect([late.status, late.body.code]).toEqual([401, "enrollment_key_expired"]);
  });

  it("is refused beyond the organization's limit of devices, and the key's use is returned", async () => {
    const { id, key } = await newKey();
    const { body } = await tenant.partnerAdmin.api.call("GET", `/devices?orgId=${tenant.orgId}&limit=100`);
    const active = (body.data as { status: string }[]).filter(({ status }) => status !== "decommissioned").length;
    const path = `/orgs/organizations/${tenant.orgId}`;
    expect((await tenant.partnerAdmin.api.call("PATCH", path, { maxDevices: active })).status).toBe(200);
    const refused = await anybody().call("POST", "/agents/enroll", { enrollmentKey: key, ...machine() });
    expect([refused.status, refused.body.code, refused.body.limit]).toEqual([409, "limit_reached", active]);
    expect(await usesOf(id)).toBe(0);
    await tenant.partnerAdmin.api.call("PATCH", path, { maxDevices: null });
  });
});

describe("an agent's token", () => {
  it("opens no other agent's routes and nothing that is for people", async () => {
    const { key } = await newKey();
    const [agent, other] = [await enrollAgent(cluster, key), await enrollAgent(cluster, key)];
    for (const id of [other.id, randomUUID()]) {
      const reply = await agentWith(cluster, id, agent.token).heartbeat();
      expect([reply.status, reply.body.code]).toEqual([404, "agent_not_found"]);
    }
    const users = await api(cluster, agent.token).call("GET", "/devices");
    expect([users.status, users.body.code]).toEqual([403, "user_session_required"]);
    expect((await agentWith(cluster, agent.id, tenant.admin.accessToken).heartbeat()).body.code).toBe(
      "agent_token_required",
    );
  });

  it("goes on after a rotation until the new one is used, and is refused from then on", async () => {
    const { key } = await newKey();
    const agent = await enrollAgent(cluster, key);
    const rotated = await agent.call("POST", "/rotate-token");
    expect([rotated.status, rotated.headers.get("cache-control")]).toEqual([200, "private, no-store"]);
    expect((await agent.heartbeat()).status).toBe(200);
    const next = agentWith(cluster, agent.id, String(rotated.body.token));
    expect((await next.heartbeat()).status).toBe(200);
    const old = await agent.heartbeat();
    expect([old.status, old.body.code]).toEqual([401, "agent_token_invalid"]);
    expect((await next.heartbeat()).status).toBe(200);
    const rows = await auditRows(tenant.admin.api, tenant.orgId, agent.id, 2);
    expect(rows.map(({ action }) => action)).toEqual(["device.create", "agent.token.rotate"]);
  });

  it("is refused as soon as the device is decommissioned", async () => {
    const { key } = await newKey();
    const agent = await enrollAgent(cluster, key);
    expect((await agent.heartbeat()).status).toBe(200);
    for (let i = 0; i < 2; i++) expect((await call("DELETE", `/devices/${agent.id}`)).body).toEqual({ success: true });
    const refused = await agent.heartbeat();
    expect([refused.status, refused.body.code]).toEqual([401, "agent_token_revoked"]);
    const rows = await auditRows(tenant.admin.api, tenant.orgId, agent.id, 2);
    expect(rows.map(({ action }) => action)).toEqual(["device.create", "device.delete"]);
  });

  it("goes on while the organization is suspended, and not once it is churned or deleted", async () => {
    const other = await tenantWithAdmins(cluster);
    const { body } = await other.admin.api.call("POST", "/enrollment-keys", { name: "Fleet" });
    const agent = await enrollAgent(cluster, String(body.key));
    const path = `/orgs/organizations/${other.orgId}`;
    const becomes = async (status: string, expected: [number, string | undefined]) => {
      expect((await other.partnerAdmin.api.call("PATCH", path, { status })).status).toBe(200);
      await until(`the agent to be answered ${expected}`, async () => {
        const reply = await agent.heartbeat();
        return reply.status === expected[0] && reply.body.code === expected[1];
      });
    };
    await becomes("suspended", [200, undefined]);
    await becomes("churned", [403, "organization_inactive"]);
    await becomes("active", [200, undefined]);
    await other.partnerAdmin.api.call("DELETE", path);
    await until("the token to end", async () => (await agent.heartbeat()).body.code === "agent_token_revoked");
  });
});

describe("a machine that comes with an active device's hardware id", () => {
  it("is quarantined with a reason, may send heartbeats only, and is trusted once a user approves it", async () => {
    const { key } = await newKey();
    const hardwareId = randomUUID();
    const first = await enrollAgent(cluster, key, { hardwareId });
    await first.heartbeat();
    const clone = await enrollAgent(cluster, key, { hardwareId });
    expect(clone.id).not.toBe(first.id);
    expect((await clone.heartbeat()).body.status).toBe("quarantined");
    expect(await device(clone.id)).toMatchObject({
      status: "quarantined",
      quarantineReason: `Enrolled with the hardware id of device ${first.id}`,
    });
    const logs = { logs: [] };
    expect((await clone.call("POST", "/logs", logs)).body.code).toBe("agent_quarantined");
    expect((await first.heartbeat()).body.status).toBe("online");
    const approved = await call("POST", `/devices/${clone.id}/approve`, {});
    expect([approved.status, approved.body.status, approved.body.quarantineReason]).toEqual([200, "offline", null]);
    await until("the gateways to know", async () => (await clone.call("POST", "/logs", logs)).status === 201);
    expect((await clone.heartbeat()).body.status).toBe("online");
    expect((await first.heartbeat()).body.status).toBe("online");
    const third = await enrollAgent(cluster, key, { hardwareId });
    expect((await call("POST", `/devices/${third.id}/approve`, { replace: true })).status).toBe(200);
    await until(
      "the replaced one to be refused",
      async () => (await first.heartbeat()).body.code === "agent_token_revoked",
    );
    expect((await third.heartbeat()).body.status).toBe("online");
  });
});
