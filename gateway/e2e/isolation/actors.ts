import { type PortalCapability, portalCapabilities } from "@muster/kit";
import { agentMaker } from "../support/agent-maker.ts";
import { api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { enrollTotp, type Membership, type RoleKey, signedInAs, type TestUser } from "../support/users.ts";
import type { Makers } from "./makers.ts";
import type { Actor, Kind, Spot, Target } from "./model.ts";
import type { World } from "./targets.ts";

export type Wanted = {
  name: string;
  role: RoleKey;
  membership: Membership;
  spot: Spot;
  factor?: false;
  active?: false;
};

const nobody = {
  id: null,
  partnerId: null,
  orgId: null,
  orgIds: [],
  siteIds: null,
  hasFactor: false,
  isPartnerActive: true,
  keyScopes: [],
  headers: {},
} as const;

/**
 * Makes all callers: signed in, with a second factor unless its absence is tested. Their records are added to
 * `world.listed`.
 */
export async function makeActors(
  cluster: Cluster,
  makers: Makers,
  world: World,
  kinds: ReadonlySet<Kind>,
): Promise<Actor[]> {
  const { own, sibling, other, suspended } = world.spots;
  const partner = (spot: Spot, orgAccess: "all" | "selected" | "none", orgIds?: string[]): Membership => ({
    partnerId: String(spot.partnerId),
    orgAccess,
    ...(orgIds ? { orgIds } : {}),
  });
  const inOrg = (spot: Spot, siteIds?: string[]): Membership => ({
    orgId: String(spot.orgId),
    ...(siteIds ? { siteIds } : {}),
  });
  const grantedOf = (kind: Kind) => world.granted.filter((t) => t.kind === kind).map(({ id }) => id);
  const orgIds = [String(own.orgId), ...grantedOf("organization")];
  const siteIds = [String(own.siteId), ...grantedOf("site")];
  const users: Wanted[] = [
    { name: "system", role: "platform-admin", membership: {}, spot: { ...own, partnerId: null, orgId: null } },
    { name: "partner all", role: "partner-admin", membership: partner(own, "all"), spot: own },
    { name: "partner list", role: "partner-admin", membership: partner(own, "selected", orgIds), spot: own },
    { name: "partner empty", role: "partner-admin", membership: partner(own, "none"), spot: own },
    { name: "no factor", role: "partner-admin", membership: partner(own, "all"), spot: own, factor: false },
    { name: "other partner", role: "partner-admin", membership: partner(other, "all"), spot: other },
    { name: "suspended", role: "partner-admin", membership: partner(suspended, "all"), spot: suspended, active: false },
    { name: "org admin", role: "org-admin", membership: inOrg(own), spot: own },
    { name: "org viewer", role: "org-viewer", membership: inOrg(own), spot: own },
    { name: "org one site", role: "org-admin", membership: inOrg(own, siteIds), spot: own },
    { name: "sibling org", role: "org-admin", membership: inOrg(sibling), spot: sibling },
    { name: "foreign org", role: "org-admin", membership: inOrg(other), spot: other },
  ];
  const made: Actor[] = [];
  for (let at = 0; at < users.length; at += 4) {
    made.push(...(await Promise.all(users.slice(at, at + 4).map((one) => userActor(cluster, world, one)))));
  }
  const { status } = await makers.root.call("PATCH", `/orgs/partners/${suspended.partnerId}`, { status: "suspended" });
  if (status !== 200) throw new Error(`suspending a partner answered ${status}`);
  made.push({ ...nobody, name: "anonymous", as: "anonymous", scope: "organization", role: null });
  made.push(await agentActor(cluster, world));
  if (kinds.has("scim_user")) made.push(await directoryActor(makers, world));
  if (kinds.has("api_key")) made.push(...(await keyActors(makers, world)));
  if (kinds.has("portal_link")) {
    made.push(await portalActor(cluster, makers, world, "portal", portalCapabilities));
    made.push(await portalActor(cluster, makers, world, "portal read-only", []));
  }
  return made;
}

/** A user who calls. */
export async function userActor(cluster: Cluster, world: World, wanted: Wanted): Promise<Actor> {
  const { name, role, membership, spot } = wanted;
  const user: TestUser = await signedInAs(cluster, role, membership);
  if (wanted.factor !== false) await enrollTotp(user);
  const orgId = membership.orgId ?? null;
  const { partnerId } = spot;
  world.listed.push({ ...at(spot, "user", user.id, user.email), partnerId, orgId });
  return {
    ...nobody,
    name,
    id: user.id,
    as: "user",
    scope: orgId ? "organization" : partnerId ? "partner" : "system",
    role,
    partnerId,
    orgId,
    orgIds: membership.orgAccess === "all" ? "all" : (membership.orgIds ?? []),
    siteIds: membership.siteIds ?? null,
    hasFactor: wanted.factor !== false,
    isPartnerActive: wanted.active !== false,
    headers: { authorization: `Bearer ${user.accessToken}` },
  };
}

/** The agent of a device of the organization `own` that no other actor uses. */
export async function agentActor(cluster: Cluster, world: World): Promise<Actor> {
  const { own } = world.spots;
  const tenant = { partnerId: String(own.partnerId), orgId: String(own.orgId), siteId: String(own.siteId) };
  const { deviceId, token } = await (await agentMaker(cluster))(tenant, { hostname: "agent of the matrix" });
  const device: Target = { ...own, kind: "device", id: deviceId, relation: "agent", marker: null, state: "active" };
  world.listed.push(device);
  return {
    ...nobody,
    name: "agent",
    as: "agent",
    scope: "organization",
    role: null,
    partnerId: own.partnerId,
    orgId: own.orgId,
    device,
    headers: { authorization: `Bearer ${token}` },
  };
}

/** The session of a link of the organization `own`. */
async function portalActor(
  cluster: Cluster,
  { root, run }: Makers,
  world: World,
  name: string,
  capabilities: readonly PortalCapability[],
): Promise<Actor> {
  const { own } = world.spots;
  const { body } = await root.call("POST", "/webhooks/portal-links", {
    orgId: own.orgId,
    name: `${run}-${name}`,
    capabilities,
    expiresInMinutes: 60,
  });
  const code = String(body.portalUrl).split("#code=")[1];
  const opened = await api(cluster).call("POST", `/webhooks/portal-links/${body.id}/exchange`, { code });
  if (opened.status !== 200) throw new Error(`opening a portal answered ${opened.status}`);
  world.listed.push({ ...own, kind: "portal_link", id: String(body.id), siteId: null, marker: null, state: "active" });
  return {
    ...nobody,
    name,
    as: "portal",
    scope: "organization",
    role: null,
    partnerId: own.partnerId,
    orgId: own.orgId,
    capabilities,
    headers: { authorization: `Bearer ${opened.body.token}` },
  };
}

/** The directory of the organization `own` in which the matrix has users and groups. */
async function directoryActor(makers: Makers, world: World): Promise<Actor> {
  const { own } = world.spots;
  const { id, token } = await makers.directoryOf({ ...own, siteId: null });
  return {
    ...nobody,
    name: "directory",
    as: "directory",
    scope: "organization",
    role: null,
    partnerId: own.partnerId,
    orgId: own.orgId,
    directoryId: id,
    headers: { authorization: `Bearer ${token}` },
  };
}

/** One caller of each kind that is served: a platform administrator, one of the partner of `own`, and an agent. */
export async function servedActors(cluster: Cluster, world: World) {
  const { own } = world.spots;
  const nowhere = { ...own, partnerId: null, orgId: null };
  const membership = { partnerId: String(own.partnerId), orgAccess: "all" as const };
  return {
    system: await userActor(cluster, world, { name: "system", role: "platform-admin", membership: {}, spot: nowhere }),
    partner: await userActor(cluster, world, { name: "partner", role: "partner-admin", membership, spot: own }),
    agent: await agentActor(cluster, world),
  };
}

/** Keys of the organization `own`, and one that a service principal owns. */
export async function keyActors(makers: Makers, world: World): Promise<Actor[]> {
  const { own } = world.spots;
  const spot = { ...own, siteId: null };
  const actorOf = (name: string, id: string, keyScopes: readonly string[], key: string): Actor => ({
    ...nobody,
    name,
    id,
    as: "key",
    scope: "organization",
    role: null,
    partnerId: own.partnerId,
    orgId: own.orgId,
    keyScopes,
    headers: { "x-api-key": key },
  });
  const actors: Actor[] = [];
  for (const [name, scopes] of [
    ["key *", ["*"]],
    ["key one", ["devices:read"]],
    ["key none", []],
  ] as const) {
    const { target, key } = await makers.makeKey(spot, scopes);
    world.listed.push(target);
    actors.push(actorOf(name, target.id, scopes, key));
  }
  const scopes = ["sites:read", "devices:read", "devices:write"];
  const principal = await makers.makePrincipal(spot, scopes);
  world.listed.push(principal.target, principal.keyTarget);
  actors.push(actorOf("principal", principal.keyTarget.id, scopes, principal.key));
  return actors;
}

const at = ({ relation, partnerId }: Spot, kind: Kind, id: string, marker: string): Target => {
  return { kind, relation, id, partnerId, orgId: null, siteId: null, marker, state: "active" };
};
