import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { routes } from "../../src/routes/index.ts";
import type { Cluster } from "../support/cluster.ts";
import { sampleOf, seed } from "../support/sample.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { makeActors } from "./actors.ts";
import { type Cell, cellsOf, servedKinds, strataOf } from "./cells.ts";
import { type Owner, ownerOf } from "./database.ts";
import { type Makers, makersFor } from "./makers.ts";
import { type Actor, hasAccess } from "./model.ts";
import { successOf } from "./outcomes.ts";
import { matrixText } from "./print.ts";
import { ofPublishedReleases } from "./releases.ts";
import { complaints, inParallel, type Performed, perform, send } from "./run.ts";
import { subjectOf, subjectsOfRoutes } from "./subjects.ts";
import { makeWorld, type World } from "./targets.ts";
import { digests, namesOf } from "./traces.ts";

/** Share of the calls where suites run a sample. */
const oneIn = 20;
const lastRow = "POST /auth/logout";
/** Rows that read first: what others change would show in their lists. */
const order = ({ method, path }: { method: string; path: string }) =>
  `${method} ${path}` === lastRow ? 2 : method === "GET" || path.endsWith("/.search") ? 0 : 1;
const table = [...routes].sort((a, b) => order(a) - order(b)).map((row) => [`${row.method} ${row.path}`, row] as const);

let cluster: Cluster;
let owner: Owner;
let makers: Makers;
let world: World;
let actors: Actor[];
let before: Map<string, string>;
/** Of each route, by its key; all of them, or the run's sample. */
const cellsOfRoute = new Map<string, Cell[]>();
const performed: Performed[] = [];
const startedMs = performance.now();
let readyMs = 0;

beforeAll(async () => {
  cluster = await sharedCluster();
  owner = await ownerOf(cluster);
  makers = await makersFor(cluster, owner);
  const kinds = servedKinds(subjectsOfRoutes(routes));
  world = await makeWorld(owner, makers, kinds);
  actors = await makeActors(cluster, makers, world, kinds);
  const suspended = actors.find(({ isPartnerActive }) => !isPartnerActive);
  await until("the suspension", async () => {
    const path = "/api/v1/orgs/partners/me";
    return (await send(cluster, { method: "GET", path, headers: suspended?.headers ?? {} })).status === 403;
  });
  const cells = subjectsOfRoutes(routes).flatMap((subject) =>
    actors.flatMap((actor) => cellsOf(world, subject, actor)),
  );
  for (const cell of sampleOf(cells, oneIn, strataOf)) {
    const { key } = cell.subject;
    cellsOfRoute.set(key, [...(cellsOfRoute.get(key) ?? []), cell]);
  }
  before = await digests(owner, world.targets);
  readyMs = performance.now();
}, 180_000);

afterAll(async () => {
  await makers?.pauseMade();
  await owner?.close();
  const took = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  const times = `made in ${took(readyMs - startedMs)}, called in ${took(performance.now() - readyMs)}`;
  const matrix = seed === null ? matrixText(performed) : `a sample by the seed ${seed}`;
  console.log(`${performed.length} calls, ${actors?.length} actors, ${times}\n${matrix}`);
});

describe("the isolation matrix", () => {
  it.each(table)("answers every actor as the model says at %s", async (_key, row) => {
    const cells = cellsOfRoute.get(subjectOf(row).key) ?? [];
    const run = { cluster, makers, world };
    const done = await inParallel(cells, (cell) => perform(run, cell));
    performed.push(...done);
    const wrong = done.flatMap((one) => {
      const { actor, target, varied } = one.cell;
      const what = [target?.relation, varied ? `${varied.field}=${varied.target.relation}` : null]
        .filter(Boolean)
        .join(" ");
      return complaints(world, one).map((text) => `${actor.name} · ${what} · ${one.request} ${text}`);
    });
    expect(wrong).toEqual([]);
  });

  it("shows in audit lists exactly the rows within the caller's tenant", async () => {
    const wrong: string[] = [];
    const lists = performed.filter(
      ({ cell: { subject } }) => subject.kind === "audit_log" && subject.shape === "list" && subject.key !== counted,
    );
    for (const { cell, answer, request } of lists.filter((one) => one.answer.status === 200)) {
      const rows = (answer.body.data ?? answer.body.entries ?? answer.body.rows ?? linesOf(answer)) as { id: string }[];
      const stored = await owner.rows<{ partner_id: string | null; org_id: string | null }>(
        "SELECT partner_id, org_id FROM audit.audit_log WHERE id = ANY ($1::uuid[])",
        [rows.map(({ id }) => id)],
      );
      const filter = cell.varied?.target.id ?? null;
      const record = { kind: "audit_log", relation: "", id: "", siteId: null, marker: null, state: "active" } as const;
      const isForeign = (row: (typeof stored)[number]) =>
        !hasAccess(cell.actor, { ...record, partnerId: row.partner_id, orgId: row.org_id }) ||
        (filter !== null && row.org_id !== filter);
      if (stored.length !== rows.length || stored.some(isForeign)) wrong.push(`${cell.actor.name} · ${request}`);
      // Every caller with an organization sees its rows: an empty list would prove nothing.
      const isOwn =
        (cell.actor.scope !== "organization" || !request.includes("search")) && !request.includes("/reports/");
      if (rows.length === 0 && filter === null && isOwn) wrong.push(`${cell.actor.name} · ${request} is empty`);
    }
    expect(wrong).toEqual([]);
  });

  it("wrote nothing for refused callers", async () => {
    const names = new Set(performed.filter(({ answer }) => answer.status >= 400).map(({ name }) => name));
    const written = (await namesOf(owner, `${makers.run}-cell-`)).filter((name) => names.has(name));
    expect(written).toEqual([]);
  });

  it("left every record as it was that only refused calls named", async () => {
    const after = await digests(owner, world.targets);
    // Partners change by themselves: their own people change their settings and order their organizations.
    const kept = [...before].filter(([key]) => !key.startsWith("tenancy.partners/"));
    expect(kept.filter(([key, digest]) => after.get(key) !== digest).map(([key]) => key)).toEqual([]);
  });

  it("tried every actor on every route, and every route with an actor who may call it", () => {
    const pairsMet = new Set(performed.map(({ cell }) => `${cell.subject.key} ${cell.actor.name}`));
    const actorsMet = new Set(performed.map(({ cell }) => cell.actor.name));
    expect(actorsMet.size).toBe(actors.length);
    if (seed === null) expect(pairsMet.size).toBe(table.length * actors.length);
    const isServed = ({ answer, cell }: Performed) =>
      answer.status < 400 || answer.body.code === (successOf(cell.subject).code ?? "");
    const served = new Set(performed.filter(isServed).map(({ cell }) => cell.subject.key));
    const neverServed = subjectsOfRoutes(routes).filter(({ key, needs, route }) => {
      const isOnlyRefused =
        route.method !== "GET" && (!["session", "agent"].includes(needs.auth) || route.path.startsWith("/auth/"));
      // Of the schema by its name, which no id of these is.
      const isByName = /^GET \/scim\/v2\/(ResourceTypes|Schemas)\/:id$/.test(key);
      return !served.has(key) && !isOnlyRefused && !isByName && !ofPublishedReleases.includes(key);
    });
    expect(neverServed.map(({ key }) => key)).toEqual([]);
  });
});

/** Numbers of rows, none of which it lists; services/audit/src/rpc/report.test.ts looks at their scope. */
const counted = "GET /audit-logs/reports/sign-ins";

/** The rows of a CSV export, by id; none of reports that list no rows. */
function linesOf({ text }: { text: string }): { id: string }[] {
  const [header = "", ...lines] = text.split("\r\n");
  if (!header.startsWith("id,")) return [];
  return lines.flatMap((line) => (/^[0-9a-f-]{36},/.test(line) ? [{ id: line.slice(0, 36) }] : []));
}
