import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { routes } from "../../src/routes/index.ts";
import type { Cluster } from "../support/cluster.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { servedActors } from "./actors.ts";
import { boundsOf } from "./bad-values.ts";
import { bodyOf, queryOf } from "./bodies.ts";
import { servedKinds } from "./cells.ts";
import { type Owner, ownerOf } from "./database.ts";
import { type Makers, makersFor } from "./makers.ts";
import type { Actor } from "./model.ts";
import { type Answer, examples, inParallel, nobodys, send } from "./run.ts";
import { pathOf, subjectOf, subjectsOfRoutes } from "./subjects.ts";
import { makeWorld, type World } from "./targets.ts";

/** Two UTF-16 units, one character. */
const astral = "😀";
const table = routes
  .filter(({ path, form, dialect }) => !path.startsWith("/auth/") && !form && dialect === undefined)
  .map((row) => [`${row.method} ${row.path}`, row] as const)
  .filter(([, row]) => boundsOf(row.body).length + boundsOf(row.query).length > 0);

let cluster: Cluster;
let owner: Owner;
let makers: Makers;
let world: World;
let system: Actor;
let partner: Actor;
let agent: Actor;
beforeAll(async () => {
  cluster = await sharedCluster();
  owner = await ownerOf(cluster);
  makers = await makersFor(cluster, owner);
  world = await makeWorld(owner, makers, servedKinds(subjectsOfRoutes(routes)));
  ({ system, partner, agent } = await servedActors(cluster, world));
}, 180_000);

afterAll(async () => {
  await makers?.pauseMade();
  await owner?.close();
});

/**
 * Why an answer shows that a service counted otherwise: the field is too long for it, or one that nobody sent is wrong.
 */
function errorsOf({ status, body }: Answer, field: string, sent: readonly string[]): string[] {
  const { fieldErrors = {} } = (body.details ?? {}) as { fieldErrors?: Record<string, string[]> };
  const tooLong = (fieldErrors[field] ?? []).filter((error) => /characters|long/i.test(error) && !/ASCII/.test(error));
  const foreign = Object.keys(fieldErrors).filter((path) => !sent.includes(path.split(".")[0] ?? ""));
  const isBroken = status >= 500 && body.code !== "device_offline";
  return [...tooLong, ...foreign.map((name) => `refused as ${name}`), ...(isBroken ? [`answered ${status}`] : [])];
}

describe("a text as long as its schema permits, counted in code points", () => {
  it.each(table)("is not too long for the service behind %s", async (_name, row) => {
    const subject = subjectOf(row);
    const isAgent = subject.shape === "agent";
    const actor = isAgent ? agent : subject.needs.scopes.includes("system") ? system : partner;
    const idOf = (kind: string) => world.targets.find((t) => t.kind === kind && t.relation === "own")?.id ?? nobodys;
    const id = isAgent ? String(agent.device?.id) : idOf(subject.kind ?? "");
    const ids = { deviceId: idOf("device"), keyId: idOf("api_key"), webhookUrl: makers.webhookUrl };
    const { roleIds, run } = makers;
    const from = { actor, home: world.spots.own, name: `${run}-long`, roleIds, ...ids, varied: null };
    const path = pathOf(subject, { id, deviceId: ids.deviceId, deliveryId: nobodys, replayId: nobodys, ...examples });
    const valid = row.body ? bodyOf(subject.key, from) : {};
    const calls = [
      ...boundsOf(row.body).map(({ field, most }) => ({
        field,
        body: { ...valid, [field]: astral.repeat(most) },
        query: {},
      })),
      ...boundsOf(row.query).map(({ field, most }) => ({
        field,
        body: valid,
        query: { [field]: astral.repeat(most) },
      })),
    ];
    const fields = [row.body, row.query].flatMap((schema) => Object.keys((schema as { shape?: object })?.shape ?? {}));
    const tooLong = await inParallel(calls, async ({ field, body, query }) => {
      const search = new URLSearchParams({ ...queryOf(subject.key), ...query }).toString();
      const text = row.body ? JSON.stringify(body) : undefined;
      const to = search === "" ? path : `${path}?${search}`;
      const answer = await send(cluster, { method: row.method, path: to, headers: actor.headers, body: text });
      const errors = errorsOf(answer, field, fields);
      return errors.length > 0 ? `${field}: ${errors.join()}` : null;
    });
    expect(tooLong.filter(Boolean)).toEqual([]);
  });
});
