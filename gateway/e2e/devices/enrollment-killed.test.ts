import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import pg from "pg";
import { api } from "../support/client.ts";
import type { StackFile } from "../support/cluster.ts";
import { enrollAgent, machine } from "../support/enrolled-agent.ts";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { tenantWithAdmins } from "../support/tenant-with-admins.ts";

// Each step of an enrollment is held by a lock that the test takes in the database, and the process that waits there is
// killed.

let cluster: LentCluster;
let tenant: Awaited<ReturnType<typeof tenantWithAdmins>>;
let owner: pg.Client;
const startMs = 60_000;

beforeAll(async () => {
  cluster = await lentCluster("killed");
  tenant = await tenantWithAdmins(cluster);
  owner = new pg.Client({ connectionString: (await cluster.stack()).databaseUrl });
  await owner.connect();
}, lendMs);
afterAll(async () => {
  await owner?.end();
  await cluster?.giveBack();
});

const call = (method: string, path: string, body?: unknown) => tenant.admin.api.call(method, path, body);

async function newKey() {
  const { body } = await call("POST", "/enrollment-keys", { name: "Fleet" });
  return { id: String(body.id), key: String(body.key) };
}
const shown = async (id: string) => (await call("GET", `/enrollment-keys/${id}`)).body.usageCount;
const taken = async (id: string) =>
  (await rows<{ usage_count: number }>("SELECT usage_count FROM identity.enrollment_keys WHERE id = $1", [id]))[0]
    ?.usage_count;
async function rows<R extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<R[]> {
  return (await owner.query<R>(text, values)).rows;
}
/** Devices of this host name that are not decommissioned; `held`: with a token that is not revoked. */
async function devices(hostname: string) {
  const found = await rows<{ id: string; status: string; held: boolean }>(
    `SELECT d.id, d.status, EXISTS (SELECT FROM identity.agent_tokens a WHERE a.device_id = d.id AND a.revoked_at IS NULL) AS held
     FROM tenancy.devices d WHERE d.hostname = $1`,
    [hostname],
  );
  return found.filter(({ status }) => status !== "decommissioned");
}

/** Blocks writes to a table until it is released. */
async function hold(table: string): Promise<{ waiting(): Promise<boolean>; release(): Promise<void> }> {
  const holder = new pg.Client({ connectionString: (await cluster.stack()).databaseUrl });
  await holder.connect();
  await holder.query("BEGIN");
  await holder.query(`LOCK TABLE ${table} IN SHARE MODE`);
  return {
    waiting: async () =>
      (await rows("SELECT FROM pg_locks WHERE relation = $1::regclass AND NOT granted", [table])).length > 0,
    async release() {
      await holder.query("ROLLBACK");
      await holder.end();
    },
  };
}

const pidOf = (stack: StackFile, name: string) =>
  name === "gateway" ? (stack.gateways[0]?.pid ?? 0) : (stack.services[name]?.pid ?? 0);

/** Kills −9 and waits until the supervisor has started it again. */
async function kill(name: string): Promise<void> {
  const before = pidOf(await cluster.stack(), name);
  process.kill(before, "SIGKILL");
  await until(`another ${name}`, async () => ![0, before].includes(pidOf(await cluster.stack(), name)), startMs);
  await until(
    "a healthy cluster",
    async () => {
      const reply = await fetch(`${cluster.url}/health`).catch(() => null);
      return reply?.ok && ((await reply.json()) as { status: string }).status === "ok";
    },
    startMs,
  );
}

/** An enrollment whose result is not awaited. */
const begin = (enrollmentKey: string, wanted: object) =>
  api(cluster)
    .call("POST", "/agents/enroll", { enrollmentKey, ...wanted })
    .catch(() => null);

const swept = (id: string) => until("the use to come back", async () => (await taken(id)) === 0, startMs);

describe("an enrollment whose services are killed", () => {
  it("before tenancy has made the device: the use comes back, and the device that comes late does not stay", async () => {
    const { id, key } = await newKey();
    const wanted = machine();
    const held = await hold("tenancy.device_counts");
    const pending = begin(key, wanted);
    await until("tenancy to wait", held.waiting);
    await kill("identity");
    expect(await shown(id)).toBe(0);
    await held.release();
    await pending;
    await swept(id);
    expect([await shown(id), await devices(wanted.hostname)]).toEqual([0, []]);
    const agent = await enrollAgent(cluster, key, wanted);
    expect((await agent.heartbeat()).status).toBe(200);
    expect([await shown(id), (await devices(wanted.hostname)).length]).toEqual([1, 1]);
  }, 180_000);

  it("in tenancy itself: the agent gets a Retry-After, and retries successfully", async () => {
    const { id, key } = await newKey();
    const wanted = machine();
    const held = await hold("tenancy.device_counts");
    const pending = begin(key, wanted);
    await until("tenancy to wait", held.waiting);
    const killed = kill("tenancy");
    const reply = await pending;
    expect(reply?.status).toBeGreaterThanOrEqual(500);
    await held.release();
    await killed;
    // Identity cannot know whether the device was made: the use counts until its reservation ends.
    await swept(id);
    const agent = await enrollAgent(cluster, key, wanted);
    expect((await agent.heartbeat()).status).toBe(200);
    expect([await shown(id), (await devices(wanted.hostname)).length]).toEqual([1, 1]);
  }, 180_000);

  it("between the device and its token: the device goes, or the same machine gets it", async () => {
    for (const comesBack of [false, true]) {
      const { id, key } = await newKey();
      const wanted = machine();
      const held = await hold("identity.agent_tokens");
      const pending = begin(key, wanted);
      await until("identity to wait", held.waiting);
      expect(await devices(wanted.hostname)).toEqual([expect.objectContaining({ held: false })]);
      await kill("identity");
      await held.release();
      await pending;
      if (comesBack) {
        const agent = await enrollAgent(cluster, key, wanted);
        expect((await agent.heartbeat()).status).toBe(200);
        expect(await devices(wanted.hostname)).toEqual([expect.objectContaining({ held: true })]);
        expect(await shown(id)).toBe(1);
      } else {
        await swept(id);
        expect([await shown(id), await devices(wanted.hostname)]).toEqual([0, []]);
      }
    }
  }, 240_000);

  it("after the token was issued: the machine that asks again gets the same device, and the use counts once", async () => {
    const { id, key } = await newKey();
    const wanted = machine();
    const held = await hold("identity.agent_tokens");
    const pending = begin(key, wanted);
    await until("identity to wait", held.waiting);
    const gateway = pidOf(await cluster.stack(), "gateway");
    process.kill(gateway, "SIGSTOP");
    await held.release();
    await until("the confirmation", async () => (await devices(wanted.hostname))[0]?.held);
    await kill("gateway");
    expect(await pending).toBeNull();
    const [device] = await devices(wanted.hostname);
    const agent = await enrollAgent(cluster, key, wanted);
    expect(agent.id).toBe(device?.id);
    expect((await agent.heartbeat()).status).toBe(200);
    expect([await shown(id), await taken(id), (await devices(wanted.hostname)).length]).toEqual([1, 1, 1]);
  }, 180_000);

  it("leaves one audit row of each device that was made", async () => {
    const doubled = () =>
      rows(
        `SELECT resource_id FROM audit.audit_log WHERE action = 'device.create' AND org_id = $1
         GROUP BY resource_id HAVING count(*) <> 1`,
        [tenant.orgId],
      );
    const unaudited = () =>
      rows(
        `SELECT d.id FROM tenancy.devices d WHERE d.org_id = $1 AND NOT EXISTS (
           SELECT FROM audit.audit_log l WHERE l.action = 'device.create' AND l.resource_id::text = d.id::text)`,
        [tenant.orgId],
      );
    await until("the audit rows", async () => (await unaudited()).length === 0);
    expect(await doubled()).toEqual([]);
  });
});
