// Directories of the example fleet's first customer, and what they send: users, groups, and requests that are refused.

const urn = "urn:ietf:params:scim:schemas:core:2.0";

/** A directory's requests as its product sends them; resolves with the id of what was made, undefined when refused. */
const scimOf = (url, token) => async (method, path, body) => {
  const reply = await fetch(`${url}/api/v1/scim/v2/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/scim+json" },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return reply.ok && reply.status !== 204 ? (await reply.json()).id : undefined;
};

/** A user as a directory sends one. */
function userOf(name, domain) {
  const [givenName, familyName] = name.split(" ");
  const email = `${givenName}.${familyName}@${domain}`.toLowerCase();
  return {
    schemas: [`${urn}:User`],
    externalId: email,
    userName: email,
    active: true,
    displayName: name,
    name: { givenName, familyName },
    emails: [{ primary: true, type: "work", value: email }],
  };
}

/** Users, groups with their members, and which group is which role; a group without a role is not mapped. */
const entra = {
  domain: "globex.example",
  users: ["Mio Tanaka", "Lea Fischer", "Tom Okafor", "Aiko Mori", "Paul Novak", "Rosa Silva"],
  groups: [
    ["IT operations", "Technician", ["Mio Tanaka", "Lea Fischer", "Tom Okafor"]],
    ["Service desk", "Night shift", ["Aiko Mori", "Paul Novak"]],
    ["Internal audit", "Auditor", ["Rosa Silva"]],
    ["All employees", null, ["Mio Tanaka", "Lea Fischer", "Tom Okafor", "Aiko Mori", "Paul Novak", "Rosa Silva"]],
  ],
};
const stores = {
  domain: "stores.globex.example",
  users: ["Kenji Ono", "Marta Ruiz", "Ben Adler", "Yui Endo", "Nils Berg", "Carla Neri", "Sora Abe"],
  groups: [
    ["Store managers", "Store manager", ["Kenji Ono", "Marta Ruiz", "Ben Adler"]],
    ["Night crew", "Night shift", ["Yui Endo", "Nils Berg"]],
    ["Store technicians", "Technician", ["Carla Neri"]],
    ["Trainees", null, ["Sora Abe"]],
  ],
};

/** Sends the users and groups, and maps those that have a role; resolves with the ids of the groups by name. */
async function provision(scim, { domain, users, groups }, map) {
  const userIds = {};
  for (const name of users) userIds[name] = await scim("POST", "Users", userOf(name, domain));
  const groupIds = {};
  const mappings = [];
  for (const [displayName, role, members] of groups) {
    const groupId = await scim("POST", "Groups", {
      schemas: [`${urn}:Group`],
      externalId: displayName.toLowerCase().replaceAll(" ", "-"),
      displayName,
      members: members.map((name) => ({ value: userIds[name] })),
    });
    groupIds[displayName] = groupId;
    if (role) mappings.push([groupId, role]);
  }
  await map(mappings);
  return groupIds;
}

/**
 * Users that the mapping of the stores sends without a user name, one who is there already, and a member whom
 * nobody assigned: more requests are refused than were accepted, and the newest says why.
 */
async function refusedOf(scim, { domain, users, groups }, groupIds) {
  const schemas = [`${urn}:User`];
  const nameless = (externalId) => scim("POST", "Users", { schemas, externalId, active: true });
  const unassigned = "7c1e4b62-90d8-4f3a-b5d1-28ac6e9f0417";
  const Operations = [{ op: "add", path: "members", value: [{ value: unassigned }] }];
  const change = { schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], Operations };
  const attempts = 3;
  for (const externalId of ["00u7k1", "00u7k2"]) await nameless(externalId);
  for (let attempt = 0; attempt < attempts; attempt++) await scim("PATCH", `Groups/${groupIds[groups[1][0]]}`, change);
  for (let attempt = 0; attempt < attempts; attempt++) {
    await scim("POST", "Users", { ...userOf(users[0], domain), externalId: "00u7k9" });
  }
  for (const externalId of ["00u7k1", "00u7k2", "00u7k3", "00u7k4", "00u7k5", "00u7k6"]) await nameless(externalId);
}

/**
 * A directory that has sent its users and groups, one whose later requests are refused, one that is paused, one that
 * sent none and one whose groups come with sign-ins.
 */
export async function directoriesOf(url, call, orgs) {
  const { orgId } = orgs.Globex;
  const { data: roles } = await call("GET", `/roles?orgId=${orgId}`);
  const roleIds = Object.fromEntries(roles.map(({ id, name }) => [name, id]));
  const make = async (name, preset) => {
    const defaultRoleId = roleIds.Technician;
    const { id, token } = await call("POST", "/directories", { orgId, name, preset, defaultRoleId });
    const map = (rows) =>
      call("PUT", `/directories/${id}/mappings`, {
        mappings: rows.map(([groupId, role]) => ({ groupId, roleId: roleIds[role] })),
      });
    return { id, map, scim: scimOf(url, token) };
  };
  await make("Warehouse", "okta");
  await make("Google Workspace", "google");
  const contractors = await make("Contractors", "onelogin");
  await contractors.scim("GET", "Users?count=1");
  await call("POST", `/directories/${contractors.id}/status`, { status: "paused" });
  const healthy = await make("Entra ID", "entra");
  await provision(healthy.scim, entra, healthy.map);
  const failing = await make("Okta of the stores", "okta");
  const groupIds = await provision(failing.scim, stores, failing.map);
  await refusedOf(failing.scim, stores, groupIds);
}
