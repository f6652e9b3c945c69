// Fills a new stack with an example fleet through the public API alone, for pictures: two customers of one service
// provider, their sites, devices, people, roles, keys and identity provider.
import { createHash } from "node:crypto";
import { Secret, TOTP } from "otpauth";

/** What a site has: machines of these kinds, by system. */
const kinds = [
  ["till", "windows", 6],
  ["srv", "linux", 4],
  ["kiosk", "windows", 3],
  ["studio", "darwin", 2],
];
const codes = { Berlin: "ber", Lisbon: "lis", Osaka: "osa" };
const devices = Object.entries(codes).flatMap(([site, code]) =>
  kinds.flatMap(([kind, os, count]) =>
    Array.from({ length: count }, (_, at) => [`${code}-${kind}-${String(at + 1).padStart(2, "0")}`, os, site]),
  ),
);
/** Machines that never report. */
const silent = ["lis-till-06", "osa-kiosk-02"];
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
  const keys = {};
  for (const site of Object.keys(zones)) {
    const wanted = { orgId, siteId: sites[site], name: `Machines of ${site}`, maxUsage: 50 };
    keys[site] = (await call("POST", "/enrollment-keys", wanted)).key;
  }
  for (const [hostname, os, site] of devices) {
    const key = keys[site];
    const hardwareId = createHash("sha256").update(hostname).digest("hex");
    const machine = { hostname, os, arch: "amd64", agentVersion: "1.4.2", hardwareId };
    const agent = await call("POST", "/agents/enroll", { enrollmentKey: key, ...machine });
    enrolled.push(agent.deviceId);
    if (silent.includes(hostname)) continue;
    const at = enrolled.length;
    const metrics = {
      "cpu.percent": 8 + ((at * 13) % 60),
      "memory.percent": 35 + ((at * 7) % 40),
      "disk.percent": 20 + at,
    };
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
  await call("POST", "/directories", { orgId, name: "Entra ID", preset: "entra" });
  const query = { status: "offline", orgId };
  await call("POST", "/saved-views", { orgId, name: "Offline tills", resource: "devices", query, shared: true });
  await releases(call, orgId);
  const { id: providerId } = await call("POST", "/sso/providers", { orgId, name: "Acme directory", type: "oidc" });
  await call("POST", "/sso/domains", { orgId, domain: "acme.example" });
  return { orgId, partnerId, deviceId: enrolled[0], siteId: sites.Berlin, roleId, providerId, recoveryCodes };
}

/** A promoted version, and a newer one that is rolled out in waves from a template. */
async function releases(call, orgId) {
  const rings = [
    { name: "Canary", orgIds: [orgId] },
    { name: "Everyone", os: ["windows", "linux", "darwin"] },
  ];
  for (const version of ["1.4.2", "1.5.0"]) {
    const artifacts = [
      ["windows", "amd64"],
      ["linux", "amd64"],
      ["darwin", "amd64"],
    ].map(([os, arch]) => {
      const sha256 = createHash("sha256").update(`${version} ${os}`).digest("hex");
      return { os, arch, size: 1, sha256, name: `agent-${os}-${arch}` };
    });
    const manifest = JSON.stringify({ version, component: "agent", artifacts });
    const urls = Object.fromEntries(
      artifacts.map(({ name }) => [name, `https://releases.example.com/${version}/${name}`]),
    );
    await call("POST", "/agent-versions", { manifest, urls });
  }
  await call("POST", "/agent-versions/promote", { version: "1.4.2", component: "agent" });
  const careful = { name: "Careful", rings, waveSuccessPercent: 95 };
  const { id: templateId } = await call("POST", "/agent-versions/rollout-templates", careful);
  await call("POST", "/agent-versions/rollouts", { component: "agent", version: "1.5.0", templateId });
}
