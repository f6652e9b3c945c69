// People and programs of the example fleet: who works with what role and second factor, and the keys of programs.
import { createHash } from "node:crypto";
import { apiOf, secondFactorOf } from "./example-api.mjs";

const technician = [
  ...["devices:read", "devices:write", "webhooks:read", "webhooks:write"],
  ...["audit:read", "organizations:read", "users:read"],
];
/** Roles of the customer whose pages are shown. */
const ownRoles = [
  ["Administrator", "Runs the whole customer", [...technician, "organizations:write", "users:write", "roles:read"]],
  ["Auditor", "Reads the audit trail and its reports", ["audit:read", "audit:export", "users:read"]],
  ["Night shift", "May look at devices", ["devices:read", "audit:read"]],
  ["Store manager", "Looks after the devices of one store", ["devices:read", "devices:write"]],
];

/** Name, customer, role and second factor. */
const userRows = [
  ["Bo Chen", "Globex", "Technician", true],
  ["Kim Roe", "Globex", "Technician", true],
  ["Sam Ortiz", "Initech", "Technician", true],
  ["Noor Haddad", "Hooli", "Technician", true],
  ["Ines Prado", "Acme Retail", "Technician", false],
  ["Hana Mori", "Globex", "Administrator", true],
  ["Luis Vega", "Globex", "Auditor", true],
  ["Priya Nair", "Globex", "Night shift", true],
  ["Jonas Weber", "Globex", "Night shift", false],
  ["Emi Kato", "Globex", "Technician", true],
  ["Omar Farouk", "Globex", "Store manager", true],
  ["Sara Lind", "Globex", "Store manager", true],
];
const invited = [
  ["Ren Sato", "Technician"],
  ["Dana Cruz", "Night shift"],
];

const addressOf = (name, customer) =>
  `${name.toLowerCase().replace(" ", ".")}@${customer.split(" ")[0].toLowerCase()}.example`;

/** People of customers, who signed in, and some who did not; one of them has left. */
export async function usersOf(call, orgs) {
  const users = {};
  const roles = {};
  const password = createHash("sha256").update(`${Date.now()}`).digest("hex");
  for (const customer of new Set(userRows.map(([, at]) => at))) {
    const { orgId } = orgs[customer];
    const wanted = { orgId, name: "Technician", description: "Runs the fleet day by day", permissions: technician };
    await call("POST", "/roles", wanted);
    for (const [name, description, permissions] of customer === "Globex" ? ownRoles : []) {
      await call("POST", "/roles", { orgId, name, description, permissions });
    }
    const { data } = await call("GET", `/roles?orgId=${orgId}`);
    roles[customer] = Object.fromEntries(data.map(({ id, name }) => [name, id]));
  }
  for (const [name, customer, role, hasFactor] of userRows) {
    const { orgId } = orgs[customer];
    const email = addressOf(name, customer);
    const { inviteUrl } = await call("POST", "/users", { orgId, email, name, roleId: roles[customer][role] });
    await call("POST", "/auth/accept-invite", { token: decodeURIComponent(inviteUrl.split("token=")[1]), password });
    const { accessToken } = await call("POST", "/auth/login", { email, password });
    const { id } = await call("GET", "/auth/me", undefined, accessToken);
    if (hasFactor) await secondFactorOf(call, password, accessToken);
    users[name] = { id, name, email, role, hasFactor, token: accessToken, orgId };
  }
  const { orgId } = orgs.Globex;
  for (const [name, role] of invited) {
    await call("POST", "/users", { orgId, email: addressOf(name, "Globex"), name, roleId: roles.Globex[role] });
  }
  await call("POST", `/users/${users["Sara Lind"].id}/disable`);
  return users;
}

const inDays = (days) => new Date(Date.now() + days * 86_400_000).toISOString();

/** Keys of programs: some that end, one of them soon, one that counts for an office alone, and one that was revoked. */
export async function accessOf(call, orgs) {
  const { orgId } = orgs.Globex;
  for (const [name, scopes, more] of [
    ["Old inventory", ["devices:read"]],
    ["Inventory", ["devices:read", "sites:read"]],
    ["Ticketing", ["devices:read", "audit:read"], { expiresAt: inDays(210) }],
    ["Dashboards", ["devices:read", "logs:read"], { expiresAt: inDays(142), rateLimit: 5_000 }],
    ["Provisioning", ["sites:write", "devices:write"], { expiresAt: inDays(88), allowedIps: ["203.0.113.0/24"] }],
    ["Compliance export", ["audit:read"], { expiresAt: inDays(300), allowedIps: ["198.51.100.17"] }],
    ["Store displays", ["devices:read"]],
    ["ci-deploy", ["devices:read"], { expiresAt: inDays(5) }],
    ["Event bridge", ["events:write"], { expiresAt: inDays(61) }],
  ]) {
    const { id } = await call("POST", "/api-keys", { orgId, name, scopes, ...more });
    if (name === "Old inventory") await call("DELETE", `/api-keys/${id}`);
  }
  await call("POST", "/service-principals", { orgId, name: "Backup job", scopes: ["devices:read"] });
  await call("POST", "/service-principals", { orgId, name: "Night report", scopes: ["devices:read", "audit:read"] });
}

/** Sign-ins that were refused. */
export async function refusals(url) {
  const { call } = apiOf(url);
  for (const email of ["bo.chen@globex.example", "kim.roe@globex.example", "sam.ortiz@initech.example"]) {
    await call("POST", "/auth/login", { email, password: "not the password" }).catch(() => null);
  }
}
