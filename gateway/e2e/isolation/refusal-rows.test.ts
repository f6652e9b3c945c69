import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { isErrorCode } from "@muster/kit";
import { until } from "@muster/testing";
import { refusedCodes } from "../../src/http/refused-change.ts";
import { permissionFor } from "../../src/route/route.ts";
import { routes } from "../../src/routes/index.ts";
import type { Cluster } from "../support/cluster.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { agentActor, keyActors, userActor } from "./actors.ts";
import { servedKinds } from "./cells.ts";
import { type Owner, ownerOf } from "./database.ts";
import { type Makers, makersFor } from "./makers.ts";
import type { Actor, Spot } from "./model.ts";
import { inParallel, type Performed, perform } from "./run.ts";
import { resourceTypeOf, type Subject, subjectsOfRoutes } from "./subjects.ts";
import { makeWorld, type World } from "./targets.ts";

type Row = { action: string; resource_type: string; org_id: string | null; partner_id: string | null; minute: string };

const subjects = subjectsOfRoutes(
  routes.filter(({ method, audit, dialect }) => method !== "GET" && audit !== undefined && dialect === undefined),
);
/** What nobody is refused on the ground of a role: requests about the own session. */
const isOwn = ({ route }: Subject) => route.access.auth !== "session" || route.access.permission === undefined;

/** Changes that need no more than the right to read. */
const mayView = ({ route }: Subject) => /:read$/.test(permissionFor(route.access, "organization") ?? "");

let cluster: Cluster;
let owner: Owner;
let makers: Makers;
let world: World;
let actors: Map<string, Actor>;
beforeAll(async () => {
  cluster = await sharedCluster();
  owner = await ownerOf(cluster);
  makers = await makersFor(cluster, owner);
  world = await makeWorld(owner, makers, servedKinds(subjects));
  const { own } = world.spots;
  const inOrg = { orgId: String(own.orgId) };
  const oneSite = { ...inOrg, siteIds: [String(own.siteId)] };
  const partner = { partnerId: String(own.partnerId), orgAccess: "all" as const };
  const spot: Spot = own;
  const made = [
    ...(await keyActors(makers, world)),
    await agentActor(cluster, world),
    await userActor(cluster, world, { name: "viewer", role: "org-viewer", membership: inOrg, spot }),
    await userActor(cluster, world, { name: "of one site", role: "org-admin", membership: oneSite, spot }),
    await userActor(cluster, world, {
      name: "no factor",
      role: "partner-admin",
      membership: partner,
      spot,
      factor: false,
    }),
  ];
  actors = new Map(made.map((actor) => [actor.name, actor]));
}, 180_000);

afterAll(async () => {
  await owner?.close();
});

/** Calls the route twice about a record of the actor's tenant. */
async function tried(actor: Actor, subject: Subject): Promise<Performed[]> {
  const relation = subject.shape === "agent" ? "agent" : "own";
  const target =
    world.targets.find((t) => t.kind === subject.kind && t.relation === relation && subject.shape !== "create") ??
    world.listed.find((t) => t.kind === subject.kind && t.relation === relation && subject.shape === "agent") ??
    null;
  const expected = { status: 403, code: null };
  const cell = { actor, subject, target, varied: null, several: null, expected, listed: null };
  const first = await perform({ cluster, makers, world }, cell);
  return [first, await perform({ cluster, makers, world }, cell)];
}

const isRefused = ({ answer }: Performed) => {
  const code = String(answer.body.code);
  return isErrorCode(code) && refusedCodes.has(code);
};

const refusedOf = (actor: Actor) =>
  owner.rows<Row>(
    `SELECT action, resource_type, org_id, partner_id, date_trunc('minute', timestamp)::text AS minute
     FROM audit.audit_log WHERE actor_id = $1 AND result = 'denied'`,
    [actor.id ?? actor.device?.id],
  );

describe("a refused change", () => {
  it.each([
    ["key none", () => true, "every"],
    ["agent", ({ shape }: Subject) => shape !== "agent", "every"],
    ["viewer", (subject: Subject) => !isOwn(subject) && !mayView(subject), "every"],
    ["no factor", ({ route }: Subject) => route.access.auth === "session" && route.access.mfa === true, "every"],
    [
      "of one site",
      ({ shape, route }: Subject) => shape === "create" && route.errors?.includes("site_restricted"),
      "some",
    ],
  ] as const)(
    'by the actor "%s" leaves one denied row per action and minute, for each route',
    async (name, of, count) => {
      const actor = actors.get(name);
      if (!actor) throw new Error(`no actor ${name}`);
      const chosen = subjects.filter((subject) => of(subject));
      const done = (await inParallel(chosen, (subject) => tried(actor, subject))).flat();
      const refused = done.filter(isRefused);
      const others = done.filter((one) => !isRefused(one)).map(({ request, answer }) => `${request} ${answer.status}`);
      if (count === "every") expect(others).toEqual([]);
      const actions = new Set(refused.map(({ cell }) => cell.subject.route.audit));
      const types = new Set(
        refused.map(({ cell: { subject } }) => `${subject.route.audit} ${resourceTypeOf(subject.route)}`),
      );
      expect(actions.size).toBeGreaterThan(0);
      const haveRows = async () => {
        const found = await refusedOf(actor);
        return new Set(found.map(({ action }) => action)).size >= actions.size ? found : null;
      };
      // Without them all the next line names those that are missing.
      const rows = await until("a denied row of each action", haveRows).catch(() => refusedOf(actor));
      expect(new Set(rows.map(({ action }) => action))).toEqual(actions);
      expect(rows.filter((row) => !types.has(`${row.action} ${row.resource_type}`))).toEqual([]);
      const perMinute = rows.map(({ action, minute }) => `${action} ${minute}`);
      expect(perMinute.filter((one, at) => perMinute.indexOf(one) !== at)).toEqual([]);
      for (const row of rows) {
        expect(row.partner_id).toBe(world.spots.own.partnerId);
        expect([null, world.spots.own.orgId]).toContain(row.org_id);
      }
    },
    180_000,
  );
});
