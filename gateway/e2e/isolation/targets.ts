import { randomUUID } from "node:crypto";
import { until } from "@muster/testing";
import { audited, type Owner } from "./database.ts";
import type { Makers } from "./makers.ts";
import type { Kind, Spot, Target } from "./model.ts";

/** Two partners with organizations and sites, one partner that is suspended, and what was deleted. */
export type World = {
  spots: Readonly<Record<"own" | "neighbour" | "unsited" | "sibling" | "orphaned" | "other" | "suspended", Spot>>;
  /** Records that only refused calls name; each kind at each relation. */
  targets: Target[];
  /** Records of a deleted organization, one for each call that is allowed to change such a thing. */
  spares: Target[];
  /** Organizations and sites that only callers with a grant have access to, for calls that may change them. */
  granted: Target[];
  /** Everything of these tenants that a list may show. */
  listed: Target[];
};

const sparesOfKind = 14;
const grantedOfKind = 6;
/** Kinds that keep their organization when it is deleted; keys are revoked with it. */
const bySite: readonly Kind[] = ["site", "device", "device_group"];

/** Makes the world; `kinds` are those whose routes are served. */
export async function makeWorld(owner: Owner, makers: Makers, kinds: ReadonlySet<Kind>): Promise<World> {
  const { make, root } = makers;
  const nowhere: Spot = { relation: "own", partnerId: null, orgId: null, siteId: null };
  const [own, other, suspended, gone] = await Promise.all(
    ["own", "other", "suspended", "deleted"].map((relation) => make("partner", { ...nowhere, relation })),
  );
  const organizationOf = (partner: Target | undefined, relation: string) =>
    make("organization", { ...nowhere, relation, partnerId: partner?.id ?? "" });
  const orgs = await Promise.all([
    organizationOf(own, "own"),
    organizationOf(own, "sibling"),
    organizationOf(own, "deleted"),
    organizationOf(other, "other"),
    organizationOf(suspended, "suspended"),
  ]);
  const siteOf = (org: Target | undefined, relation: string) =>
    make("site", { ...nowhere, relation, partnerId: org?.partnerId ?? "", orgId: org?.id ?? "" });
  const sites = await Promise.all([
    siteOf(orgs[0], "own"),
    siteOf(orgs[0], "neighbour"),
    siteOf(orgs[1], "sibling"),
    siteOf(orgs[2], "orphaned"),
    siteOf(orgs[3], "other"),
    siteOf(orgs[0], "deleted"),
  ]);
  const granted = await Promise.all([
    ...Array.from({ length: grantedOfKind }, () => organizationOf(own, "granted")),
    ...Array.from({ length: grantedOfKind }, () => siteOf(orgs[0], "granted")),
  ]);
  const spotOf = (site: Target | undefined, relation: string): Spot => {
    if (!site) throw new Error("a site is missing");
    return { relation, partnerId: site.partnerId, orgId: site.orgId, siteId: site.id };
  };
  const spots = {
    own: spotOf(sites[0], "own"),
    neighbour: spotOf(sites[1], "neighbour"),
    unsited: { ...spotOf(sites[0], "unsited"), siteId: null },
    sibling: spotOf(sites[2], "sibling"),
    orphaned: { ...spotOf(sites[3], "orphaned"), state: "orphaned" as const },
    other: spotOf(sites[4], "other"),
    suspended: { ...nowhere, relation: "suspended", partnerId: suspended?.id ?? "", orgId: orgs[4]?.id ?? "" },
  };

  const spareSpot = (kind: Kind): Spot =>
    bySite.includes(kind) ? spots.orphaned : { ...spots.orphaned, siteId: null };
  const active: Target[] = [];
  const spares: Target[] = [];
  const wanted: Promise<unknown>[] = [];
  const add = (list: Target[], kind: Kind, spot: Spot) => wanted.push(make(kind, spot).then((t) => list.push(t)));
  for (const kind of ["device", "device_group"] as const) {
    for (const relation of ["own", "neighbour", "unsited", "sibling", "orphaned", "other"] as const) {
      add(active, kind, spots[relation]);
    }
  }
  for (const kind of [...bySite, "user", "role"] as const)
    for (let i = 0; i < sparesOfKind; i++) add(spares, kind, spareSpot(kind));
  for (const relation of ["own", "sibling", "orphaned", "other"] as const)
    add(active, "user", { ...spots[relation], siteId: null });
  for (const relation of ["own", "sibling", "orphaned", "other"] as const)
    add(active, "role", { ...spots[relation], siteId: null });
  for (const kind of ["user", "role"] as const) {
    add(active, kind, { ...nowhere, relation: "partner", partnerId: own?.id ?? "" });
    add(active, kind, { ...nowhere, relation: "other-partner", partnerId: other?.id ?? "" });
  }
  add(active, "user", { ...nowhere, relation: "platform" });
  for (const kind of ["api_key", "service_principal"] as const) {
    if (!kinds.has(kind)) continue;
    for (const relation of ["own", "sibling", "other"] as const)
      add(active, kind, { ...spots[relation], siteId: null });
  }
  for (const kind of ["sso_provider", "sso_domain", "sso_attempt", "directory"] as const) {
    if (!kinds.has(kind)) continue;
    for (const relation of ["own", "sibling", "other"] as const)
      add(active, kind, { ...spots[relation], siteId: null });
  }
  for (const kind of ["scim_user", "scim_group"] as const) {
    if (!kinds.has(kind)) continue;
    for (const relation of ["own", "sibling", "other"] as const)
      add(active, kind, { ...spots[relation], siteId: null });
    // Another directory of the same organization.
    add(active, kind, { ...spots.own, relation: "second", siteId: null });
  }
  for (const kind of ["audit_alert", "audit_stream", "audit_verification", "audit_export"] as const) {
    if (!kinds.has(kind)) continue;
    for (const relation of ["own", "sibling", "other"] as const)
      add(active, kind, { ...spots[relation], siteId: null });
  }
  if (kinds.has("enrollment_key")) {
    for (const relation of ["own", "neighbour", "unsited", "sibling", "other"] as const) {
      add(active, "enrollment_key", spots[relation]);
    }
  }
  for (const kind of ["saved_view", "bulk_job"] as const) {
    if (!kinds.has(kind)) continue;
    for (const relation of ["own", "sibling", "other"] as const)
      add(active, kind, { ...spots[relation], siteId: null });
  }
  for (const kind of ["webhook", "dead_letter", "event", "portal_link"] as const) {
    if (!kinds.has(kind)) continue;
    for (const relation of ["own", "sibling", "other"] as const)
      add(active, kind, { ...spots[relation], siteId: null });
  }
  for (const kind of ["agent_version", "rollout", "rollout_template"] as const)
    if (kinds.has(kind)) add(active, kind, nowhere);
  if (kinds.has("rollout")) {
    for (const relation of ["own", "other"] as const)
      add(active, "rollout", { ...spots[relation], relation: `${relation} partner`, orgId: null, siteId: null });
  }
  await Promise.all(wanted);
  for (const hook of active.filter(({ kind }) => kind === "webhook")) {
    active.push({ ...hook, kind: "delivery", id: makers.deliveryOf(hook.id), marker: null });
    active.push({ ...hook, kind: "replay", id: makers.replayOf(hook.id), marker: null });
  }

  const ended = await Promise.all([make("device", spots.own), make("device_group", spots.own)]);
  const endedTargets = [
    { ...(ended[0] as Target), relation: "ended", state: "ended" as const },
    { ...(ended[1] as Target), relation: "deleted", state: "deleted" as const },
  ];
  const call = async (method: string, path: string, body?: object) => {
    const reply = await root.call(method, path, body);
    if (reply.status !== 200) throw new Error(`${method} ${path} answered ${reply.status}`);
  };
  await Promise.all([
    call("DELETE", `/devices/${ended[0]?.id}`),
    call("DELETE", `/device-groups/${ended[1]?.id}`),
    call("DELETE", `/orgs/partners/${gone?.id}`),
    call("DELETE", `/orgs/organizations/${orgs[2]?.id}`),
    call("DELETE", `/orgs/sites/${sites[5]?.id}`),
  ]);
  const deletedIds = [gone?.id, orgs[2]?.id, sites[5]?.id];
  await until("the copies to know what was deleted", async () => {
    const rows = await owner.rows<{ n: string }>(
      `SELECT (SELECT count(*) FROM identity.tenant WHERE deleted AND id = ANY ($1::uuid[]))
            + (SELECT count(*) FROM audit.tenant WHERE deleted AND id = ANY ($1::uuid[]))
            + (SELECT count(*) FROM device_logs.tenant WHERE deleted AND id = ANY ($1::uuid[])) AS n`,
      [deletedIds],
    );
    return rows[0]?.n === "9";
  });

  const settle = (t: Target): Target => {
    if (deletedIds.includes(t.id)) return { ...t, state: "deleted" };
    return t.orgId === orgs[2]?.id && t.kind !== "api_key" ? { ...t, state: "orphaned" } : t;
  };
  const tenants = [own, other, suspended, gone, ...orgs, ...sites, ...granted]
    .filter((t) => t !== undefined)
    .map(settle);
  const all = [...tenants, ...active.map(settle), ...endedTargets, ...(await seededRoles(makers))];
  const logs = await auditTargets(owner, spots, own?.id ?? "");
  const used = [...all, ...logs].filter(({ relation }) => relation !== "suspended" && relation !== "granted");
  return {
    spots,
    targets: [...used, ...absent(kinds)],
    spares,
    granted,
    listed: [...all, ...spares.map(settle), ...makers.principalKeys],
  };

  async function auditTargets(db: Owner, at: World["spots"], partnerId: string): Promise<Target[]> {
    const chains = [at.own, at.sibling, at.orphaned, at.other].map((s) => String(s.orgId));
    await audited(db, [...chains, partnerId]);
    const rows = await db.rows<{ id: string; chain_id: string; resource_name: string }>(
      `SELECT DISTINCT ON (chain_id) id, chain_id, resource_name FROM audit.audit_log
       WHERE chain_id = ANY ($1::uuid[]) ORDER BY chain_id, seq`,
      [[...chains, partnerId]],
    );
    const spots: Spot[] = [at.own, at.sibling, at.orphaned, at.other, { ...nowhere, relation: "partner", partnerId }];
    return spots.map((spot) => {
      const row = rows.find(({ chain_id }) => chain_id === (spot.orgId ?? partnerId));
      if (!row) throw new Error(`no audit row of relation ${spot.relation}`);
      const { relation, partnerId: of, orgId, state = "active" } = spot;
      return {
        kind: "audit_log",
        relation,
        id: row.id,
        partnerId: of,
        orgId,
        siteId: null,
        marker: row.resource_name,
        state,
      };
    });
  }
}

/** The roles that every deployment has; `relation` is the scope of their users. */
async function seededRoles({ root }: Makers): Promise<Target[]> {
  const { body } = await root.call("GET", "/roles?limit=100");
  const roles = body.data as { id: string; key: string | null; scope: string }[];
  const nobodys = { partnerId: null, orgId: null, siteId: null, marker: null };
  return roles
    .filter(({ key }) => key !== null)
    .map(({ id, scope }) => ({ ...nobodys, kind: "role", relation: `seeded ${scope}`, id, state: "active" }));
}

/** Ids that never had a record, per kind. */
function absent(kinds: ReadonlySet<Kind>): Target[] {
  const nothing = { partnerId: null, orgId: null, siteId: null, marker: null };
  return [...kinds].flatMap((kind) => [
    { ...nothing, kind, relation: "missing", id: randomUUID(), state: "missing" as const },
    { ...nothing, kind, relation: "malformed", id: "not-an-id", state: "malformed" as const },
  ]);
}
