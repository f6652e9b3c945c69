// Fills a new stack with the example fleet through the public API, for pictures: customers, devices, people, roles,
// keys, webhooks, releases with a rollout. The past, which no API takes, is written by example-past.mjs.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { Secret, TOTP } from "otpauth";
import { customers, isSilent, loadOf, machinesOf, versions } from "./example-fleet.mjs";

const [atOnce, testsPerMinute, betweenChangesMs] = [8, 10, 9_000];

/** Runs the work for all items, some at a time. */
export async function eachOf(items, work) {
  const rest = [...items];
  const next = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, next));
}

/** Calls of the API; a caller's token stands last. */
export function apiOf(url) {
  const state = { token: "" };
  async function call(method, path, body, bearer = state.token) {
    const reply = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${bearer}`, ...(body ? { "content-type": "application/json" } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const answer = await reply.json();
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(answer)}`);
    return answer;
  }
  return { call, state };
}

/**
 * Creates the example fleet as the administrator, who gets a second factor. `hooks` is the origin of a receiver of
 * webhooks, null for none. Resolves with what screenshots need: the first customer, the secret of the second factor,
 * and the agents with their tokens.
 */
export async function makeExampleData(url, credentials, hooks) {
  const { call, state } = apiOf(url);
  state.token = (await call("POST", "/auth/login", credentials)).accessToken;
  await call("PATCH", "/auth/me", { name: "Ada Lindqvist" });
  const secret = await secondFactorOf(call, credentials.password);

  const { id: partnerId } = await call("POST", "/orgs/partners", { name: "Northwind MSP", slug: "northwind" });
  const orgs = {};
  const agents = [];
  for (const customer of customers) {
    const { id: orgId } = await call("POST", "/orgs/organizations", {
      partnerId,
      name: customer.name,
      slug: customer.slug,
    });
    orgs[customer.name] = { orgId, sites: {} };
    for (const site of customer.sites) {
      const { id: siteId } = await call("POST", "/orgs/sites", { orgId, ...site });
      orgs[customer.name].sites[site.name] = siteId;
      const name = `${site.name} machines`;
      const { key } = await call("POST", "/enrollment-keys", { orgId, siteId, name, maxUsage: 500 });
      await eachOf(machinesOf(customer, site), async (machine) => {
        const agent = await call("POST", "/agents/enroll", { enrollmentKey: key, ...machine });
        agents.push({ ...machine, id: agent.agentId, token: agent.token, orgId });
      });
    }
  }
  const orgId = orgs.Globex.orgId;
  await beat(url, agents);
  const deviceId = agents.find((agent) => agent.orgId === orgId)?.id;
  await someLogs(call, agents);
  await devicesOf(call, orgs, agents);
  const jobId = await jobOf(call, orgs);
  const rolloutId = await releases(call, orgs);
  await beginRollout(
    url,
    call,
    rolloutId,
    agents.filter((agent) => agent.orgId === orgId && agent.os !== "darwin"),
  );
  for (let round = 0; round < 3; round++) await beat(url, agents, true);
  const users = await usersOf(call, orgs);
  await webhooksOf(call, orgs, users, hooks);
  await streamsOf(call, orgs, hooks);
  await refusals(url);
  await accessOf(call, orgs);
  await signInOf(url, call, orgs);
  await alertsOf(call, orgs);
  await lastChanges(call, orgs, users);
  return { orgId, partnerId, deviceId, jobId, totpSecret: secret, agents, orgs, users };
}

/** One heartbeat of every machine that is on. With `isUpdating` those that are offered a version go on with it. */
export async function beat(url, agents, isUpdating = false) {
  const { call } = apiOf(url);
  const on = agents.filter((agent) => !isSilent(agent));
  await eachOf(on, async (agent) => {
    const { id, token, hostname } = agent;
    const [cpu, memory, disk] = loadOf(hostname, Date.now()).map(Math.round);
    const metrics = { "cpu.percent": cpu, "memory.percent": memory, "disk.percent": disk };
    const body = { agentVersion: agent.agentVersion, watchdogVersion: "1.1.0", metrics };
    const said = await call("POST", `/agents/${id}/heartbeat`, body, token);
    const [offer] = said.updates ?? [];
    if (!isUpdating || !offer) return;
    if (agent.os === "darwin" && offer.version === "2.5.0") {
      const update = { component: offer.component, version: offer.version, state: "rolled_back", error: "exit 78" };
      await call("POST", `/agents/${id}/heartbeat`, { ...body, update }, token);
    } else {
      agent.agentVersion = offer.version;
      await call("POST", `/agents/${id}/heartbeat`, { ...body, agentVersion: offer.version }, token);
    }
  });
}

async function someLogs(call, agents) {
  const lines = [
    ["error", "printer", "paper jam on tray 2"],
    ["warn", "dhcpcd", "carrier lost, regained after 2 s"],
    ["error", "pos", "card terminal: retry 3 of 5"],
    ["info", "agent", "started"],
  ];
  await eachOf(agents.slice(0, 40), async ({ id, token, hostname }) => {
    const logs = lines.map(([level, component, message], at) => ({
      level,
      component,
      message: at === 3 ? `${hostname} is ready` : message,
      timestamp: new Date(Date.now() - at * 1_800_000),
    }));
    await call("POST", `/agents/${id}/logs`, { logs }, token);
  });
}

/** Groups, labels and machines that were reinstalled. */
async function devicesOf(call, orgs, agents) {
  const { orgId, sites } = orgs.Globex;
  const own = agents.filter((agent) => agent.orgId === orgId);
  for (const [name, from, to] of [
    ["Canary", 0, 6],
    ["Tills", 0, 24],
  ]) {
    const group = await call("POST", "/device-groups", { orgId, name });
    await call("POST", `/device-groups/${group.id}/devices`, { deviceIds: own.slice(from, to).map(({ id }) => id) });
  }
  await call("PATCH", `/orgs/sites/${sites.Osaka}/labels`, { labels: { region: "apac", tier: "1" } });
  const wanted = { orgId, siteId: sites.Osaka, name: "Osaka spare tills", maxUsage: 10, ttlMinutes: 20_000 };
  const { key } = await call("POST", "/enrollment-keys", wanted);
  for (const { hostname, os, arch, agentVersion, hardwareId } of own.slice(-3)) {
    await call("POST", "/agents/enroll", { enrollmentKey: key, hostname, os, arch, agentVersion, hardwareId });
  }
  const query = { status: "offline", orgId };
  await call("POST", "/saved-views", { orgId, name: "Offline tills", resource: "devices", query, shared: true });
}

async function secondFactorOf(call, password, token) {
  const { secret } = await call("POST", "/auth/mfa/totp/setup", { password }, token);
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  await call("POST", "/auth/mfa/totp/enable", { code }, token);
  return secret;
}

/** Technicians of customers, who signed in. */
async function usersOf(call, orgs) {
  const users = {};
  const roles = {};
  const password = createHash("sha256").update(`${Date.now()}`).digest("hex");
  for (const [name, at] of [
    ["Bo Chen", "Globex"],
    ["Kim Roe", "Globex"],
    ["Sam Ortiz", "Initech"],
    ["Noor Haddad", "Hooli"],
    ["Ines Prado", "Acme Retail"],
  ]) {
    const { orgId } = orgs[at];
    const permissions = [
      ...["devices:read", "devices:write", "webhooks:read", "webhooks:write"],
      ...["audit:read", "organizations:read", "users:read"],
    ];
    const wanted = { orgId, name: "Technician", description: "Runs the fleet day by day", permissions };
    roles[at] ??= (await call("POST", "/roles", wanted)).id;
    const roleId = roles[at];
    const email = `${name.toLowerCase().replace(" ", ".")}@${at.split(" ")[0].toLowerCase()}.example`;
    const { inviteUrl } = await call("POST", "/users", { orgId, email, name, roleId });
    await call("POST", "/auth/accept-invite", { token: decodeURIComponent(inviteUrl.split("token=")[1]), password });
    const { accessToken } = await call("POST", "/auth/login", { email, password });
    const { id } = await call("GET", "/auth/me", undefined, accessToken);
    if (name !== "Ines Prado") await secondFactorOf(call, password, accessToken);
    users[name] = { id, name, email, token: accessToken, orgId };
  }
  const invited = { email: "ren.sato@globex.example", name: "Ren Sato", roleId: roles.Globex };
  await call("POST", "/users", { orgId: orgs.Globex.orgId, ...invited });
  return users;
}

async function accessOf(call, orgs) {
  const { orgId } = orgs.Globex;
  await call("POST", "/api-keys", { orgId, name: "Inventory", scopes: ["devices:read", "sites:read"] });
  await call("POST", "/api-keys", { orgId, name: "Ticketing", scopes: ["devices:read", "audit:read"] });
  const soon = new Date(Date.now() + 5 * 86_400_000).toISOString();
  await call("POST", "/api-keys", { orgId, name: "ci-deploy", scopes: ["devices:read"], expiresAt: soon });
  await call("POST", "/service-principals", { orgId, name: "Backup job", scopes: ["devices:read"] });
  const permissions = ["devices:read", "audit:read"];
  await call("POST", "/roles", { orgId, name: "Night shift", description: "May look at devices", permissions });
}

/** Sends a user as a directory does. */
const provision = (url, token, user) =>
  fetch(`${url}/api/v1/scim/v2/Users`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/scim+json" },
    body: JSON.stringify({ schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"], ...user }),
  });

/**
 * A directory that has sent its people, one whose requests are refused and one that sent none, and a provider whose
 * certificate ends in twelve days.
 */
async function signInOf(url, call, orgs) {
  const { orgId } = orgs.Globex;
  const { data: roles } = await call("GET", `/roles?orgId=${orgId}`);
  const defaultRoleId = roles.find(({ name }) => name === "Technician")?.id;
  const { token } = await call("POST", "/directories", { orgId, name: "Entra ID", preset: "entra", defaultRoleId });
  for (const [givenName, familyName] of [
    ["Mio", "Tanaka"],
    ["Lea", "Fischer"],
    ["Tom", "Okafor"],
  ]) {
    const email = `${givenName}.${familyName}@globex.example`.toLowerCase();
    await provision(url, token, {
      externalId: email,
      userName: email,
      active: true,
      displayName: `${givenName} ${familyName}`,
      name: { givenName, familyName },
      emails: [{ primary: true, type: "work", value: email }],
    });
  }
  const stores = await call("POST", "/directories", {
    orgId,
    name: "Okta of the stores",
    preset: "okta",
    defaultRoleId,
  });
  // Its mapping has no user name: each of its requests is refused.
  for (const externalId of ["00u1", "00u2", "00u3"]) await provision(url, stores.token, { externalId, active: true });
  await call("POST", "/directories", { orgId, name: "Warehouse", preset: "okta", defaultRoleId });
  const subject = ["-subj", "/CN=login.globex.example", "-days", "12"];
  const key = ["-newkey", "rsa:2048", "-nodes", "-keyout", "/dev/null"];
  const pem = execFileSync("openssl", ["req", "-x509", ...key, ...subject], { stdio: ["ignore", "pipe", "ignore"] });
  const certificate = pem.toString().replaceAll(/-----[A-Z ]+-----|\s/g, "");
  const origin = "https://login.globex.example";
  const samlMetadataXml = `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${origin}/saml"><IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>${certificate}</X509Certificate></X509Data></KeyInfo></KeyDescriptor><SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${origin}/sso"/></IDPSSODescriptor></EntityDescriptor>`;
  const { id } = await call("POST", "/sso/providers", { orgId, name: "Globex Entra", type: "saml", samlMetadataXml });
  await call("POST", "/sso/domains", { orgId, domain: "globex.example" });
  await call("POST", `/sso/providers/${id}/status`, { status: "active" });
}

/** What people changed last: some at a time, as people do. */
async function lastChanges(call, orgs, users) {
  const { orgId, sites } = orgs.Globex;
  const { "Bo Chen": bo, "Kim Roe": kim, "Sam Ortiz": sam, "Noor Haddad": noor } = users;
  const group = (who, name) => call("POST", "/device-groups", { orgId: who.orgId, name }, who.token);
  const hooks = await call("GET", `/webhooks?orgId=${orgId}`, undefined, kim.token);
  const ticketing = hooks.data.find(({ name }) => name === "Ticketing");
  const changes = [
    () => group(sam, "Meeting rooms"),
    () => group(noor, "Front desks"),
    () => group(kim, "Kitchen displays"),
    () => call("PATCH", `/orgs/sites/${sites.Nagoya}`, { timezone: "Asia/Tokyo", name: "Nagoya" }),
    () => call("PATCH", `/orgs/sites/${sites.Nagoya}/labels`, { labels: { region: "apac", tier: "2" } }),
    () => group(bo, "Warehouse scanners"),
    // He may not: a refusal.
    () => call("DELETE", `/orgs/sites/${sites.Nagoya}`, undefined, bo.token).catch(() => null),
    () => ticketing && call("PATCH", `/webhooks/${ticketing.id}`, { name: "Ticketing desk" }, kim.token),
    () => ticketing && call("PATCH", `/webhooks/${ticketing.id}`, { name: "Ticketing" }, kim.token),
  ];
  for (const change of changes) {
    await change();
    await new Promise((resolve) => setTimeout(resolve, betweenChangesMs));
  }
}

/** Webhooks with deliveries; one of them fails. */
async function webhooksOf(call, orgs, users, hooks) {
  if (!hooks) return;
  const events = ["device.online", "device.offline"];
  for (const [name, at, who, path] of [
    ["ERP sync", "Globex", "Bo Chen", "fails"],
    ["Ticketing", "Globex", "Kim Roe", "fast"],
    ["Data lake", "Initech", "Sam Ortiz", "fast"],
    ["Pager", "Hooli", "Noor Haddad", "slow"],
  ]) {
    const { orgId } = orgs[at];
    const url = `${hooks}/${path}/${name.toLowerCase().replace(" ", "-")}`;
    const { token } = users[who];
    const wanted = await call("POST", "/webhooks", { orgId, name, url, events }, token).catch((error) => {
      process.stderr.write(`${error.message}\n`);
      return null;
    });
    for (let sent = 0; wanted && sent < testsPerMinute; sent++)
      await call("POST", `/webhooks/${wanted.id}/test`, {}, token);
  }
}

/** Streams of the audit trail; one of them fails. */
async function streamsOf(call, orgs, hooks) {
  if (!hooks) return;
  const { orgId } = orgs.Globex;
  for (const [name, path] of [
    ["Cold archive", "fails"],
    ["SIEM", "fast"],
  ]) {
    await call("POST", "/audit-logs/streams", { orgId, name, type: "webhook", url: `${hooks}/${path}/audit` });
  }
}

/** Alerts of the audit trail, and event types of the customer's own programs. */
async function alertsOf(call, orgs) {
  const { orgId } = orgs.Globex;
  const { id: me } = await call("GET", "/auth/me");
  const notify = { mail: [me], webhook: true };
  for (const [name, search] of [
    ["New administrators", { template: "new-administrator" }],
    ["Keys that may do everything", { template: "key-with-all-scopes" }],
    ["Devices decommissioned by night", { query: { action: "device.delete" }, threshold: { count: 5, minutes: 10 } }],
  ]) {
    await call("POST", "/audit-logs/alerts", { orgId, name, ...search, notify });
  }
  const schema = { type: "object", required: ["order"], properties: { order: { type: "string" } } };
  for (const [type, description, more] of [
    [
      "custom.order_shipped",
      "An order has left the warehouse.",
      { schema, version: "2", example: { order: "A-1042" } },
    ],
    ["custom.till_closed", "A till was counted and closed for the day.", {}],
  ]) {
    await call("POST", "/webhooks/event-types", { orgId, type, description, ...more });
  }
}

/** A job that changes all devices of a filter. */
async function jobOf(call, orgs) {
  const { orgId } = orgs.Initech;
  const filter = { orgId, os: "windows" };
  const { pagination } = await call("GET", `/devices?orgId=${orgId}&os=windows&limit=1`);
  const wanted = { filter, expectedCount: pagination.total, action: "update", change: { autoUpdateEnabled: true } };
  return (await call("POST", "/devices/bulk-jobs", wanted)).id;
}

/** The versions of the fleet; the newest is rolled out in waves from a template. */
async function releases(call, orgs) {
  const rings = [
    { name: "Canary", orgIds: [orgs.Globex.orgId] },
    { name: "A tenth", orgIds: [orgs.Initech.orgId, orgs.Hooli.orgId, orgs["Acme Retail"].orgId] },
    { name: "Everyone", os: ["windows", "linux", "darwin"] },
  ];
  for (const version of Object.keys(versions).reverse()) {
    const artifacts = [
      ["windows", "amd64"],
      ["linux", "amd64"],
      ["darwin", "arm64"],
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
  await call("POST", "/agent-versions/promote", { version: "2.4.3", component: "agent" });
  const careful = { name: "Careful", rings, waveSuccessPercent: 95, soakSeconds: 5 };
  const { id: templateId } = await call("POST", "/agent-versions/rollout-templates", careful);
  return (await call("POST", "/agent-versions/rollouts", { component: "agent", version: "2.5.0", templateId })).id;
}

/** The first wave goes well until its Macs, which come last, fail. */
async function beginRollout(url, call, id, first) {
  for (let round = 0; round < 40; round++) {
    await beat(url, first, true);
    if ((await call("GET", `/agent-versions/rollouts/${id}`)).succeeded >= 40) return;
    await new Promise((done) => setTimeout(done, 2_000));
  }
  throw new Error("the first wave of the rollout did not go on");
}

/** Sign-ins that were refused. */
async function refusals(url) {
  const { call } = apiOf(url);
  for (const email of ["bo.chen@globex.example", "kim.roe@globex.example", "sam.ortiz@initech.example"]) {
    await call("POST", "/auth/login", { email, password: "not the password" }).catch(() => null);
  }
}
