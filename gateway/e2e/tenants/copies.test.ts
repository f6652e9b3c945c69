import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import pg from "pg";
import { type Api, api } from "../support/client.ts";
import type { StackFile } from "../support/cluster.ts";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { newOrganization, newPartner, newSite, operator, signedInAs } from "../support/users.ts";

const schemas = ["identity", "audit", "device_logs", "webhook_dispatcher", "agent_release"];

let cluster: LentCluster;
let root: Api;
let database: pg.Client;
beforeAll(async () => {
  cluster = await lentCluster("twoGateways");
  root = await operator(cluster);
  database = new pg.Client({ connectionString: (await cluster.stack()).databaseUrl });
  // PostgreSQL is not stopped here; the end of the cluster may still come first.
  database.on("error", () => undefined);
  await database.connect();
}, lendMs);
afterAll(async () => {
  await database?.end();
  await cluster?.giveBack();
});

const rowsOf = async (text: string) => (await database.query({ text, rowMode: "array" })).rows;
const truth = () =>
  rowsOf(`
    SELECT 'partner' AS kind, id, version, status, deleted_at IS NOT NULL AS deleted FROM tenancy.partners
    UNION ALL SELECT 'organization', id, version, status, deleted_at IS NOT NULL FROM tenancy.organizations
    UNION ALL SELECT 'site', id, version, '', false FROM tenancy.sites ORDER BY 1, 2`);
const copyOf = (schema: string) =>
  rowsOf(`
    SELECT kind, id, version, status, deleted FROM ${schema}.tenant
    WHERE NOT (kind = 'site' AND deleted) ORDER BY 1, 2`);

const inStep = () =>
  until(
    "every copy to be tenancy's state",
    async () => {
      const expected = JSON.stringify(await truth());
      const copies = await Promise.all(schemas.map(copyOf));
      return copies.every((copy) => JSON.stringify(copy) === expected);
    },
    40_000,
  );

/** Partners, organizations and sites that are created, changed and deleted. */
async function life(): Promise<void> {
  const partnerId = await newPartner(cluster);
  const [kept, gone] = [await newOrganization(cluster, partnerId), await newOrganization(cluster, partnerId)];
  const [site, goneSite] = [await newSite(cluster, kept), await newSite(cluster, kept)];
  const calls: [string, string, object?][] = [
    ["PATCH", `/orgs/organizations/${kept}`, { status: "trial" }],
    ["PATCH", `/orgs/sites/${site}`, { name: "Renamed" }],
    ["DELETE", `/orgs/sites/${goneSite}`],
    ["DELETE", `/orgs/organizations/${gone}`],
    ["PATCH", `/orgs/partners/${partnerId}`, { status: "suspended" }],
    ["PATCH", `/orgs/partners/${partnerId}`, { status: "active" }],
  ];
  for (const [method, path, body] of calls)
    expect([path, (await root.call(method, path, body)).status]).toEqual([path, 200]);
}

async function restart(pidOf: (stack: StackFile) => number | undefined): Promise<void> {
  const before = pidOf(await cluster.stack()) as number;
  process.kill(before, "SIGKILL");
  await until("its successor", async () => pidOf(await cluster.stack()) !== before, 30_000);
  const { gateways } = await cluster.stack();
  // Each gateway connects again by itself.
  for (const { url } of gateways) {
    await until(
      `the cluster to be healthy again at ${url}`,
      async () => {
        const reply = await fetch(`${url}/health`).catch(() => null);
        return reply?.ok && ((await reply.json()) as { status: string }).status === "ok";
      },
      60_000,
    );
  }
}

describe("the services' copies of the tenants", () => {
  it("are tenancy's state after a life of changes", async () => {
    await life();
    await inStep();
    expect((await truth()).length).toBeGreaterThan(3);
  });

  it("are so again after NATS was killed among them", async () => {
    const going = life();
    await restart(({ nats }) => nats.pid);
    await going;
    await life();
    await inStep();
  }, 120_000);

  it("agree with tenancy by hash at the next start", async () => {
    const compared = async () => {
      const log = await readFile(join(cluster.dataDir, "logs", "device-logs.log"), "utf8");
      const lines = log.split("\n").filter((line) => line.includes("tenant copy compared"));
      return lines.map((line) => (JSON.parse(line) as { outcome: string }).outcome);
    };
    const before = (await compared()).length;
    await restart(({ services }) => services["device-logs"]?.pid);
    await until("the comparison", async () => (await compared()).length > before);
    expect((await compared()).at(-1)).toBe("same");
  }, 120_000);

  it("are rebuilt from the snapshot when one was deleted", async () => {
    await database.query("DELETE FROM identity.tenant");
    await restart(({ services }) => services.identity?.pid);
    await inStep();
  }, 120_000);
});

describe("a partner that is suspended", () => {
  it("locks its people out on every gateway, and lets them in again", async () => {
    const partnerId = await newPartner(cluster);
    const orgId = await newOrganization(cluster, partnerId);
    const users = [
      await signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "all" }),
      await signedInAs(cluster, "org-viewer", { orgId }),
    ];
    const { gateways } = await cluster.stack();
    expect(gateways).toHaveLength(2);
    const doors = gateways.flatMap(({ url }) => users.map(({ accessToken }) => api({ ...cluster, url }, accessToken)));
    const answers = () =>
      Promise.all(doors.map(async (door) => (await door.call("GET", "/users?limit=1")).body.code ?? "served"));
    const set = (status: string) => root.call("PATCH", `/orgs/partners/${partnerId}`, { status });
    expect(await answers()).toEqual(Array(4).fill("served"));
    for (const status of ["suspended", "active", "churned", "pending", "active"]) {
      expect((await set(status)).status).toBe(200);
      const expected = status === "active" ? "served" : "partner_inactive";
      await until(
        `${status} at both gateways`,
        async () => (await answers()).every((code) => code === expected),
        1_000,
      );
    }
    expect((await root.call("DELETE", `/orgs/partners/${partnerId}`)).status).toBe(200);
    await until("deleted at both", async () => (await answers()).every((code) => code === "session_revoked"), 10_000);
  });
});
