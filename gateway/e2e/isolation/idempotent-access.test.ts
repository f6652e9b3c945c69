import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { routes } from "../../src/routes/index.ts";
import type { Cluster } from "../support/cluster.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { userActor } from "./actors.ts";
import { bodyOf, queryOf } from "./bodies.ts";
import { servedKinds } from "./cells.ts";
import { type Owner, ownerOf } from "./database.ts";
import { type Makers, makersFor } from "./makers.ts";
import type { Actor } from "./model.ts";
import { type Answer, examples, nobodys, send } from "./run.ts";
import { pathOf, subjectOf, subjectsOfRoutes } from "./subjects.ts";
import { makeWorld, type World } from "./targets.ts";

/** Rows outside of the organizations that a partner's user may lose, and why. */
const withoutScope: Record<string, string> = {
  "POST /orgs/partners": "for system callers alone",
  "POST /orgs/organizations": "for callers of all organizations of a partner",
  "POST /agents/:id/rotate-token": "of the agent itself",
  "POST /agents/:id/logs": "of the agent itself",
  "POST /sso/providers/:id/keys": "for providers by SAML, which the prepared one is not: e2e/sso repeats it",
  "POST /agent-versions": "for the platform's administrators alone",
  "POST /agent-versions/rollouts": "for callers of all organizations of a partner",
  "POST /agent-versions/rollout-templates": "for the platform's administrators alone",
};
/**
 * Rows that refuse while the prepared delivery has retries left, and the one whose filter no device matches: nothing is
 * stored under their key then.
 */
const mayRefuse = [
  "POST /webhooks/:id/deliveries/:deliveryId/retry",
  "POST /webhooks/:id/retry/:deliveryId",
  "POST /devices/bulk-jobs",
];

const rows = routes.filter((row) => row.idempotent && !(`${row.method} ${row.path}` in withoutScope));
const table = rows.map((row) => [`${row.method} ${row.path}`, row] as const);
type Said = { first: Answer; lost: Answer; again: Answer };

let cluster: Cluster;
let owner: Owner;
let makers: Makers;
let world: World;
let user: Actor;
const said = new Map<string, Said>();

beforeAll(async () => {
  cluster = await sharedCluster();
  owner = await ownerOf(cluster);
  makers = await makersFor(cluster, owner);
  world = await makeWorld(owner, makers, servedKinds(subjectsOfRoutes(routes)));
  const { own, sibling } = world.spots;
  const membership = { partnerId: String(own.partnerId), orgAccess: "selected" as const, orgIds: [String(own.orgId)] };
  user = await userActor(cluster, world, { name: "partner list", role: "partner-admin", membership, spot: own });
  const requests = table.map(([key, row]) => [key, requestOf(row)] as const);
  const sendAll = async () => {
    const answers = new Map<string, Answer>();
    for (const [key, request] of requests) answers.set(key, await send(cluster, request));
    return answers;
  };
  const first = await sendAll();
  await grant(String(sibling.orgId));
  const lost = await sendAll();
  await grant(String(own.orgId));
  const again = await sendAll();
  for (const [key] of table) {
    said.set(key, { first: first.get(key), lost: lost.get(key), again: again.get(key) } as Said);
  }
}, 240_000);

afterAll(async () => {
  await makers?.pauseMade();
  await owner?.close();
});

async function grant(orgId: string): Promise<void> {
  const { status } = await makers.root.call("PATCH", `/users/${user.id}`, { orgIds: [orgId] });
  if (status !== 200) throw new Error(`granting an organization answered ${status}`);
}

/** The same request, key included, each time that it is sent. */
function requestOf(row: (typeof rows)[number]) {
  const subject = subjectOf(row);
  const idOf = (kind: string | null) =>
    world.targets.find((t) => t.kind === kind && t.relation === "own")?.id ?? nobodys;
  const id = idOf(subject.kind);
  const { own } = world.spots;
  const from = {
    actor: user,
    home: own,
    name: `${makers.run}-${randomUUID().slice(0, 8)}`,
    roleIds: makers.roleIds,
    deviceId: idOf("device"),
    keyId: idOf("api_key"),
    webhookUrl: makers.webhookUrl,
    varied: null,
  };
  const deliveryId = makers.deliveryOf(id);
  const params = { id, deviceId: from.deviceId, deliveryId, replayId: makers.replayOf(id), ...examples };
  const query = new URLSearchParams(queryOf(subject.key)).toString();
  return {
    method: row.method,
    path: `${pathOf(subject, params)}${query && `?${query}`}`,
    headers: { ...user.headers, "idempotency-key": randomUUID() },
    body: row.body ? JSON.stringify(bodyOf(subject.key, from)) : undefined,
  };
}

describe("a reply stored under an Idempotency-Key", () => {
  it.each(table)("is not shown to a caller who lost the organization: %s", (key) => {
    const { first, lost, again } = said.get(key) as Said;
    if (mayRefuse.includes(key) && first.status === 409) return;
    expect([first.status, first.text.slice(0, first.status < 300 ? 0 : 300)]).toEqual([expect.any(Number), ""]);
    expect([first.deviation, lost.deviation]).toEqual([null, null]);
    expect([403, 404]).toContain(lost.status);
    expect(Object.keys(lost.body).sort()).toEqual(expect.arrayContaining(["code", "error", "requestId"]));
    // The stored reply was kept all the time.
    expect([again.status, again.body]).toEqual([first.status, first.body]);
  });
});
