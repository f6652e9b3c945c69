import { beforeAll, describe, expect, it } from "@jest/globals";
import { routes } from "../../src/routes/index.ts";
import type { Cluster } from "../support/cluster.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { servedActors } from "./actors.ts";
import { queryOf } from "./bodies.ts";
import { servedKinds } from "./cells.ts";
import { ownerOf } from "./database.ts";
import { makersFor } from "./makers.ts";
import type { Actor } from "./model.ts";
import { examples, nobodys, send } from "./run.ts";
import { pathOf, subjectOf, subjectsOfRoutes } from "./subjects.ts";
import { makeWorld, type World } from "./targets.ts";

const table = routes
  .filter(({ method, query, dialect }) => method === "GET" && Object.hasOwn(query?.shape ?? {}, "cursor") && !dialect)
  .map((row) => [row.path, row] as const);

let cluster: Cluster;
let world: World;
let system: Actor;
let partner: Actor;
const turned = new Set<string>();
beforeAll(async () => {
  cluster = await sharedCluster();
  const owner = await ownerOf(cluster);
  const makers = await makersFor(cluster, owner);
  world = await makeWorld(owner, makers, servedKinds(subjectsOfRoutes(routes)));
  ({ system, partner } = await servedActors(cluster, world));
  await owner.close();
}, 180_000);

describe("a list in pages of one record", () => {
  it.each(table)("goes on at its cursor: %s", async (path, row) => {
    const subject = subjectOf(row);
    const actor = subject.needs.scopes.includes("system") ? system : partner;
    const idOf = (kind: string) => world.targets.find((t) => t.kind === kind && t.relation === "own")?.id ?? nobodys;
    const ids = { id: idOf(subject.kind ?? ""), deviceId: idOf("device"), deliveryId: nobodys, replayId: nobodys };
    const get = (query: Record<string, string>) => {
      const search = new URLSearchParams({ ...queryOf(subject.key), ...query, limit: "1" });
      const to = `${pathOf(subject, { ...ids, ...examples })}?${search}`;
      return send(cluster, { method: "GET", path: to, headers: actor.headers, body: undefined });
    };
    const first = await get({});
    const { nextCursor } = (first.body.pagination ?? {}) as { nextCursor?: string | null };
    if (!nextCursor) return;
    turned.add(path);
    const second = await get({ cursor: nextCursor });
    expect([second.status, second.text]).toEqual([200, expect.not.stringContaining('"data":[]')]);
  });

  it("is what most lists of the matrix are", () => {
    expect(turned.size).toBeGreaterThan(table.length / 2);
  });
});
