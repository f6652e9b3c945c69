// Fills a new stack with an example fleet through the public API alone, for pictures: two customers of one service
// provider, their sites, devices, people, roles, keys and identity provider.
import { createHash } from "node:crypto";
import { Secret, TOTP } from "otpauth";

const devices = [
  ["web-01", "linux", "Berlin"],
  ["web-02", "linux", "Berlin"],
  ["db-01", "linux", "Berlin"],
  ["till-07", "windows", "Lisbon"],
  ["till-08", "windows", "Lisbon"],
  ["till-09", "windows", "Lisbon"],
  ["kiosk-1", "windows", "Osaka"],
  ["studio-3", "darwin", "Osaka"],
];
const zones = { Berlin: "Europe/Berlin", Lisbon: "Europe/Lisbon", Osaka: "Asia/Tokyo" };

/**
 * Creates the example fleet as the administrator, who gets a second factor. Resolves with what screenshots need: the id
 * of the first customer, and recovery codes to sign in with.
 */
export async function makeExampleData(url, credentials) {
  let token = "";
  async function call(method, path, body, bearer = token) {
    const reply = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${bearer}`, ...(body ? { "content-type": "application/json" } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const answer = await reply.json();
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(answer)}`);
    return answer;
  }

  token = (await call("POST", "/auth/login", credentials)).accessToken;
  const { secret } = await call("POST", "/auth/mfa/totp/setup", { password: credentials.password });
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  const { recoveryCodes } = await call("POST", "/auth/mfa/totp/enable", { code });

  const { id: partnerId } = await call("POST", "/orgs/partners", { name: "Northwind IT", slug: "northwind" });
  const organization = (name, slug) => call("POST", "/orgs/organizations", { partnerId, name, slug });
  const { id: orgId } = await organization("Acme Retail", "acme-retail");
  await organization("Globex Studios", "globex");
  const sites = {};
  for (const [name, timezone] of Object.entries(zones)) {
    sites[name] = (await call("POST", "/orgs/sites", { orgId, name, timezone })).id;
  }
  await call("PATCH", `/orgs/sites/${sites.Berlin}/labels`, { labels: { region: "eu", tier: "1" } });
  const group = await call("POST", "/device-groups", { orgId, name: "Canaries" });

  const enrolled = [];
  for (const [hostname, os, site] of devices) {
    const wanted = { orgId, siteId: sites[site], name: hostname, maxUsage: 1 };
    const { key } = await call("POST", "/enrollment-keys", wanted);
    const hardwareId = createHash("sha256").update(hostname).digest("hex");
    const machine = { hostname, os, arch: "amd64", agentVersion: "1.4.2", hardwareId };
    const agent = await call("POST", "/agents/enroll", { enrollmentKey: key, ...machine });
    enrolled.push(agent.deviceId);
    if (hostname === "till-09") continue;
    const metrics = { cpu: 0.12, memory: 0.48 };
    await call("POST", `/agents/${agent.agentId}/heartbeat`, { agentVersion: "1.4.2", metrics }, agent.token);
    const log = { level: "info", component: "agent", message: `${hostname} is ready`, timestamp: new Date() };
    await call("POST", `/agents/${agent.agentId}/logs`, { logs: [log] }, agent.token);
  }
  await call("POST", `/device-groups/${group.id}/devices`, { deviceIds: enrolled.slice(0, 2) });

  await call("POST", "/api-keys", { orgId, name: "Inventory", scopes: ["devices:read", "sites:read"] });
  await call("POST", "/service-principals", { orgId, name: "Backup job", scopes: ["devices:read"] });
  const permissions = ["devices:read", "audit:read"];
  const role = { orgId, name: "Night shift", description: "May look at devices", permissions };
  const { id: roleId } = await call("POST", "/roles", role);
  await call("POST", "/users", { orgId, email: "ada@acme.example", name: "Ada Lovelace", roleId });
  const { id: providerId } = await call("POST", "/sso/providers", { orgId, name: "Acme directory", type: "oidc" });
  await call("POST", "/sso/domains", { orgId, domain: "acme.example" });
  return { orgId, partnerId, deviceId: enrolled[0], siteId: sites.Berlin, roleId, providerId, recoveryCodes };
}
