// Fills a new stack with the example fleet through the public API, for pictures: customers, devices, people, roles,
// keys, webhooks, releases with rollouts. The past, which no API takes, is written by example-past.mjs.
import { apiOf, eachOf, secondFactorOf } from "./example-api.mjs";
import { directoriesOf } from "./example-directories.mjs";
import { customers, machinesOf, updatesAtOnce } from "./example-fleet.mjs";
import { streamsOf, webhooksOf } from "./example-hooks.mjs";
import { beat, beginRollout, releases, runRollout } from "./example-releases.mjs";
import { providersOf } from "./example-sign-in.mjs";
import { accessOf, refusals, usersOf } from "./example-users.mjs";

const betweenChangesMs = 9_000;

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
    if (!updatesAtOnce(customer)) await call("PUT", `/orgs/organizations/${orgId}/agent-updates`, maintenance());
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
  const own = agents.filter((agent) => agent.orgId === orgId);
  await beginRollout(url, call, rolloutId, own);
  const users = await usersOf(call, orgs);
  await webhooksOf(call, orgs, users, hooks);
  await streamsOf(call, orgs, hooks);
  await refusals(url);
  await accessOf(call, orgs);
  await directoriesOf(url, call, orgs);
  await providersOf(call, orgs);
  await alertsOf(call, orgs);
  await Promise.all([runRollout(url, call, orgs, agents), lastChanges(call, orgs, users)]);
  return { orgId, partnerId, deviceId, jobId, totpSecret: secret, agents, orgs, users };
}

const [days, dayMs] = [["sun", "mon", "tue", "wed", "thu", "fri", "sat"], 86_400_000];

/** A night in two days, in which a customer lets updates begin. */
function maintenance() {
  const day = days[new Date(Date.now() + 2 * dayMs).getUTCDay()];
  return { updatePolicy: "automatic", windowDays: [day], windowStart: "22:00", windowEnd: "04:00" };
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
