import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { routes } from "../../src/routes/index.ts";
import type { Api } from "../support/client.ts";
import { admin, type Cluster } from "../support/cluster.ts";
import { operatorToken } from "../support/operator.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { newOrganization, newPartner, newSite, operator, roleId } from "../support/users.ts";
import { bodyOf, queryOf } from "./bodies.ts";

import type { Actor, Spot } from "./model.ts";
import { send } from "./run.ts";
import { type Reference, type Subject, subjectsOfRoutes } from "./subjects.ts";

/** Rows that name a tenant in the query or the body, and rows about a tenant itself. */
const subjects = subjectsOfRoutes(routes).filter(({ shape }) => shape === "list" || shape === "create");
const named = subjects.flatMap((subject) =>
  subject.references
    .filter(({ kind, within }) => (kind === "organization" || kind === "partner") && within !== "params")
    .map((reference) => [`${subject.key} ${reference.within}.${reference.field}`, subject, reference] as const),
);
const ofTenant = [
  "/orgs/organizations/:id",
  "/orgs/organizations/:id/agent-updates",
  "/orgs/organizations/:id/log-limits",
  "/orgs/organizations/:id/sign-in-policy",
  "/orgs/partners/:id",
];

let cluster: Cluster;
let root: Api;
let headers: { authorization: string };
let home: Spot & { partnerId: string; orgId: string };
let roleIds: Record<"platform-admin" | "partner-technician" | "org-viewer", string>;
beforeAll(async () => {
  cluster = await sharedCluster();
  root = await operator(cluster);
  headers = { authorization: `Bearer ${await operatorToken(cluster, admin)}` };
  const partnerId = await newPartner(cluster);
  const orgId = await newOrganization(cluster, partnerId);
  home = { relation: "own", partnerId, orgId, siteId: await newSite(cluster, orgId) };
  const [platform, technician, viewer] = [
    await roleId(root, "platform-admin"),
    await roleId(root, "partner-technician"),
    await roleId(root, "org-viewer"),
  ];
  roleIds = { "platform-admin": platform, "partner-technician": technician, "org-viewer": viewer };
}, 180_000);

/** The call that names this tenant. */
function callOf({ key, route }: Subject, varied: Reference, id: string) {
  const name = `u-${randomUUID().slice(0, 8)}`;
  const actor = { scope: "system", siteIds: null } as unknown as Actor;
  const from = { actor, home, name, roleIds, deviceId: randomUUID(), keyId: randomUUID(), webhookUrl: "", varied };
  const query = new URLSearchParams(queryOf(key));
  let body = route.body ? bodyOf(key, from) : undefined;
  if (varied.within === "query") query.set(varied.field, id);
  else body = { ...body, [varied.field]: varied.many ? [id] : id };
  const path = `/api/v1${route.path}${query.size > 0 ? `?${query}` : ""}`;
  const request = { method: route.method, path, headers, body: body && JSON.stringify(body) };
  return () => send(cluster, request);
}

/** Whether the call for an unknown tenant ever takes about as long as that for an existing one. */
async function isAsFast(existing: () => Promise<unknown>, unknown: () => Promise<unknown>): Promise<string> {
  let [best, worst] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const millisecondsOf = async (call: () => Promise<unknown>) => {
    const from = performance.now();
    await call();
    return performance.now() - from;
  };
  for (let round = 0; round < 5; round++) {
    best = Math.min(best, await millisecondsOf(existing));
    worst = Math.min(worst, await millisecondsOf(unknown));
    if (worst <= 4 * best + 50) return "as fast";
  }
  return `${Math.round(worst)} ms beside ${Math.round(best)} ms`;
}

describe("a tenant that does not exist is refused as fast as one that does is served", () => {
  it.each(named)("%s", async (_name, subject, reference) => {
    const tenantId = reference.kind === "organization" ? home.orgId : home.partnerId;
    const [existing, unknown] = [callOf(subject, reference, tenantId), callOf(subject, reference, randomUUID())];
    expect(await isAsFast(existing, unknown)).toBe("as fast");
  });

  it.each(ofTenant)("GET %s", async (path) => {
    const at = (id: string) => () => root.call("GET", path.replace(":id", id));
    const tenantId = path.includes("partners") ? home.partnerId : home.orgId;
    expect((await at(randomUUID())()).status).toBe(404);
    expect(await isAsFast(at(tenantId), at(randomUUID()))).toBe("as fast");
  });
});

describe("an organization that was just made is available in every service immediately", () => {
  const reads = [
    "/audit-logs/logs?orgId=:id",
    "/webhooks?orgId=:id",
    "/api-keys?orgId=:id",
    "/orgs/organizations/:id/agent-updates",
    "/orgs/organizations/:id/log-limits",
    "/orgs/organizations/:id/sign-in-policy",
  ];
  it.each(reads)("%s", async (path) => {
    for (let round = 0; round < 5; round++) {
      const orgId = await newOrganization(cluster, home.partnerId);
      const { status } = await root.call("GET", path.replace(":id", orgId));
      expect(status).toBe(200);
    }
  });
});
