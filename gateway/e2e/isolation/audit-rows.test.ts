import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { zeroUuid } from "@muster/kit";
import { routes } from "../../src/routes/index.ts";
import type { Cluster } from "../support/cluster.ts";
import { sampleOf } from "../support/sample.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { agentActor, userActor } from "./actors.ts";
import { type Cell, servedKinds } from "./cells.ts";
import { audited, type Owner, ownerOf } from "./database.ts";
import { type Makers, makersFor } from "./makers.ts";
import { type Actor, ofPlatform } from "./model.ts";
import { ofPublishedReleases } from "./releases.ts";
import { type Performed, perform } from "./run.ts";
import { sessionOperations } from "./session-operations.ts";
import { ofSeveralDevices, resourceTypeOf, type Subject, subjectOf, subjectsOfRoutes } from "./subjects.ts";
import { makeWorld, type World } from "./targets.ts";

type Row = {
  actor_id: string;
  actor_type: string;
  actor_email: string | null;
  action: string;
  resource_type: string;
  resource_id: string;
  org_id: string | null;
  partner_id: string | null;
  result: string;
  ip_address: string | null;
  session_id: string | null;
  details: { keyPrefix?: string; changes?: { before: object; after: object } };
  targets: { type: string; id: string; name: string | null }[] | null;
};
/** Records whose names the service that changes something knows. */
const named = ["api_key", "device", "service_principal", "user", "webhook"];

/** Rows of directories are looked at in e2e/directory. */
const changing = routes.filter(({ method, dialect }) => method !== "GET" && dialect === undefined);
const ownSession = (path: string) => path.startsWith("/auth/");
/** Requests that are too frequent for an audit row each. */
const unauditedByAgents = ["POST /agents/:id/logs", "POST /agents/:id/otlp/v1/logs", "POST /agents/:id/heartbeat"];
/** An event is a record by itself, and there are thousands a second; a search and a preview change nothing. */
const unaudited = ["POST /events", "POST /sso/find", "POST /agent-versions/rollouts/preview"];
/** Rows of new users, of links to real providers, and of a real provider: e2e/sso checks them. */
const elsewhere = [
  "POST /sso/exchange",
  "POST /sso/saml/acs",
  "POST /sso/providers/:id/test",
  "POST /sso/providers/:id/keys",
  "POST /sso/link/start/:providerId",
  "DELETE /sso/link/:providerId",
  // Takes a code that is exchanged once: e2e/webhooks/portal.test.ts.
  "POST /webhooks/portal-links/:id/exchange",
  // Its devices have rows, too: e2e/devices/bulk-jobs.test.ts.
  "POST /devices/bulk-jobs",
  // Its rows are those that it appends: e2e/audit.
  "POST /audit-logs/events",
  // Changes a type that its organization has: e2e/webhooks.
  "PATCH /webhooks/event-types",
];
/** May leave a row of more than one component: e2e/releases looks at them. */
const ofReleases = [...ofPublishedReleases, "POST /agent-versions/rollouts/:id/complete"];
const ofOperations = changing
  .filter(({ path }) => !ownSession(path) && !path.startsWith("/agents/"))
  .filter(
    ({ method, path }) =>
      ![...unaudited, ...ofReleases, ...ofSeveralDevices, ...elsewhere].includes(`${method} ${path}`),
  )
  .map((row) => ({ key: `${row.method} ${row.path}`, row, refused: null }));
const refusedByTenant = subjectsOfRoutes(changing)
  .filter(({ shape, needs }) => shape === "record" && needs.scopes.includes("partner"))
  .map((subject) => ({ key: subject.key, row: subject.route, refused: subject }));
/** One in five of the checks where suites run a sample, and each route at least once. */
const checks = sampleOf([...ofOperations, ...refusedByTenant], 5, ({ key }) => [key]);
const operations = checks.filter(({ refused }) => refused === null).map(({ key, row }) => [key, row] as const);
const onRecords = checks.flatMap(({ key, refused }) => (refused ? [[key, refused] as const] : []));

let cluster: Cluster;
let owner: Owner;
let makers: Makers;
let world: World;
let system: Actor;
let partner: Actor;
let foreign: Actor;
beforeAll(async () => {
  cluster = await sharedCluster();
  owner = await ownerOf(cluster);
  makers = await makersFor(cluster, owner);
  world = await makeWorld(owner, makers, servedKinds(subjectsOfRoutes(changing)));
  const { own, other } = world.spots;
  const partnerOf = (partnerId: string | null) => ({ partnerId: String(partnerId), orgAccess: "all" as const });
  const nowhere = { ...own, partnerId: null, orgId: null };
  system = await userActor(cluster, world, { name: "system", role: "platform-admin", membership: {}, spot: nowhere });
  const role = "partner-admin";
  partner = await userActor(cluster, world, { name: "partner", role, membership: partnerOf(own.partnerId), spot: own });
  foreign = await userActor(cluster, world, {
    name: "foreign",
    role,
    membership: partnerOf(other.partnerId),
    spot: other,
  });
}, 180_000);

afterAll(async () => {
  await makers?.pauseMade();
  await owner?.close();
});

const doneBy = new Map<string, Performed>();

function cellOf(subject: Subject, actor: Actor, status: number): Cell {
  const isRecord = subject.shape === "record";
  const target = world.targets.find((t) => isRecord && t.kind === subject.kind && t.relation === "own") ?? null;
  return { actor, subject, target, varied: null, several: null, expected: { status, code: null }, listed: null };
}

/** Audit rows of a user's actions without the user's own sign-in. */
const rowsOf = async (actor: Actor): Promise<Row[]> => {
  const records = [...world.targets, ...[...doneBy.values()].map(({ target }) => target)];
  const created = [...doneBy.values()].map(({ answer }) => answer.body.id);
  const chains = [...records.flatMap((t) => [t?.orgId, t?.partnerId]), ...created];
  await audited(
    owner,
    [...chains, zeroUuid].filter((id): id is string => typeof id === "string"),
  );
  const rows = await owner.rows<Row>(
    "SELECT * FROM audit.audit_log WHERE actor_id = $1 AND resource_id <> $1 ORDER BY timestamp, id",
    [actor.id],
  );
  return rows;
};

describe("an operation", () => {
  it.each(operations)("%s leaves one audit row of its action, with actor, tenant and changes", async (key, row) => {
    const subject = subjectOf(row);
    const action = row.audit;
    if (!action) throw new Error(`${key} changes something, and its row does not say which audit row that leaves`);
    const actor = subject.needs.scopes.includes("system") ? system : partner;
    const before = (await rowsOf(actor)).length;
    const done = await perform({ cluster, makers, world }, cellOf(subject, actor, row.status ?? 200));
    expect([done.request, done.answer.status, done.answer.body.code]).toEqual([
      done.request,
      row.status ?? 200,
      undefined,
    ]);
    doneBy.set(key, done);
    const added = (await rowsOf(actor)).slice(before);
    expect(added.map((r) => [r.action, r.resource_type])).toEqual([[action, resourceTypeOf(row)]]);
    const [entry] = added as [Row];
    const resourceId =
      done.target?.id ??
      done.answer.body.id ??
      done.answer.body.orgId ??
      (actor === partner ? partner.partnerId : null);
    expect(entry).toMatchObject({ actor_type: "user", actor_id: actor.id, result: "success", resource_id: resourceId });
    expect(entry.actor_email).toMatch(/@example\.com$/);
    expect(entry.ip_address).toBe("127.0.0.1");
    expect(entry.session_id).not.toBeNull();
    const tenant = done.target ?? tenantOf(subject, done);
    expect([entry.org_id, entry.partner_id]).toEqual([tenant.orgId, tenant.partnerId]);
    expect(changesProblem(entry)).toBeNull();
    expect((entry.targets ?? []).filter(({ type, name }) => named.includes(type) && name === null)).toEqual([]);
  });

  it.each(onRecords)("%s leaves none when it is refused by tenant", async (_key, subject) => {
    const before = await rowsOf(foreign);
    const done = await perform({ cluster, makers, world }, cellOf(subject, foreign, 404));
    expect([403, 404]).toContain(done.answer.status);
    const rows = await owner.rows<{ n: string }>(
      "SELECT count(*) AS n FROM audit.audit_log WHERE actor_id = $1 AND resource_id = $2",
      [foreign.id, done.target?.id],
    );
    expect([rows[0]?.n, (await rowsOf(foreign)).length]).toEqual(["0", before.length]);
  });
});

describe("an agent's operation", () => {
  const agentRows = subjectsOfRoutes(changing).filter(({ shape }) => shape === "agent");
  it.each(agentRows.map((subject) => [subject.key, subject] as const))(
    "%s leaves the rows it should",
    async (key, subject) => {
      const action = subject.route.audit ?? null;
      if (action === null && !unauditedByAgents.includes(key)) throw new Error(`${key} names no audit row`);
      const actor = await agentActor(cluster, world);
      const target = actor.device as NonNullable<Actor["device"]>;
      const { status = 200 } = subject.route;
      const cell: Cell = { ...cellOf(subject, actor, status), target };
      const done = await perform({ cluster, makers, world }, cell);
      expect([done.request, done.answer.status]).toEqual([done.request, status]);
      await audited(owner, [String(target.orgId)]);
      const rows = await owner.rows<Row>("SELECT * FROM audit.audit_log WHERE actor_type = 'agent' AND actor_id = $1", [
        target.id,
      ]);
      // The first heartbeat may also say from where it came.
      const found = rows.filter((row) => row.action !== "agent.source.ip.changed");
      expect(found.map((row) => row.action)).toEqual(action === null ? [] : [action]);
      for (const row of found) {
        expect(row).toMatchObject({
          resource_id: target.id,
          org_id: target.orgId,
          partner_id: target.partnerId,
          ip_address: "127.0.0.1",
        });
      }
    },
  );
});

describe("a session's operation", () => {
  it("leaves one audit row of its action, in order", async () => {
    const { done, userId, covered } = await sessionOperations(cluster, world);
    const served = changing.filter(({ path }) => ownSession(path)).map(({ method, path }) => `${method} ${path}`);
    expect(served.filter((key) => !covered.includes(key))).toEqual([]);
    const stated = changing.flatMap(({ path, audit }) => (ownSession(path) && audit ? [audit] : []));
    expect(stated.filter((action) => !done.includes(action))).toEqual([]);
    await audited(owner, [String(world.spots.own.orgId)]);
    const rows = await owner.rows<Row>(
      `SELECT * FROM audit.audit_log WHERE chain_id = $2 AND (resource_id = $1 OR (actor_id = $1 AND resource_type = 'session'))
       ORDER BY seq`,
      [userId, world.spots.own.orgId],
    );
    expect(rows.map(({ action }) => action)).toEqual(done);
    for (const row of rows.slice(1)) expect(row.actor_id).toBe(userId);
  });
});

/** Organization and partner of the new record in this reply, or of the caller's own partner. */
function tenantOf(subject: Subject, { answer, cell }: Performed): { orgId: string | null; partnerId: string | null } {
  if (subject.kind !== null && ofPlatform.includes(subject.kind)) return { orgId: null, partnerId: null };
  if (subject.kind === "partner") return { orgId: null, partnerId: String(answer.body.id) };
  if (subject.shape === "self") return { orgId: null, partnerId: cell.actor.partnerId };
  const orgId = subject.kind === "organization" ? answer.body.id : answer.body.orgId;
  return { orgId: String(orgId), partnerId: world.spots.own.partnerId };
}

/** The error in a row's before and after values; null when there is none. */
function changesProblem({ action, details }: Row): string | null {
  const count = (values: object | undefined) => Object.keys(values ?? {}).length;
  const [before, after] = [count(details.changes?.before), count(details.changes?.after)];
  const isKey = /^(api_key|enrollment_key|service_principal)\./.test(action);
  if (isKey && !details.keyPrefix && action !== "service_principal.disable") return "names no key prefix";
  if (/\.create$/.test(action)) return before === 0 && after > 0 ? null : "shows no new record";
  if (/\.update$/.test(action)) return before + after > 0 ? null : "shows no change";
  if (/\.delete$/.test(action)) return before > 0 ? null : "does not show what was";
  return null;
}
