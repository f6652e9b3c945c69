import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import type { Api } from "../support/client.ts";
import { newTenant } from "../support/enroller.ts";
import { me, newKey, rateOf } from "../support/keys.ts";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { operator } from "../support/users.ts";

let cluster: LentCluster;
let root: Api;
let orgId: string;
let gateways: string[];

beforeAll(async () => {
  cluster = await lentCluster("twoGateways");
  root = await operator(cluster);
  ({ orgId } = await newTenant(root));
  gateways = (await cluster.stack()).gateways.map(({ url }) => url);
  await until("the organization to arrive at identity", async () => {
    const reply = await root.call("POST", "/api-keys", { orgId, name: "First" });
    return reply.status === 201;
  });
}, lendMs);
afterAll(async () => {
  await cluster?.giveBack();
});

type Tally = { admitted: number; refused: number; other: string[]; remaining: number[] };

/** `total` requests by 50 clients round-robin at both gateways; each reply's headers are checked. */
async function hammer(key: string, total: number, clients = 50): Promise<Tally> {
  const tally: Tally = { admitted: 0, refused: 0, other: [], remaining: [] };
  let left = total;
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      while (left-- > 0) {
        const reply = await me(gateways[client % gateways.length] as string, key);
        if (reply.status === 200) tally.admitted++;
        else if (reply.status === 429) tally.refused++;
        else tally.other.push(`${reply.status} ${JSON.stringify(reply.body)}`);
        if (reply.status === 200 || reply.status === 429) tally.remaining.push(rateOf(reply).remaining);
      }
    }),
  );
  return tally;
}

const usageOf = async (id: string) => {
  const { body } = await root.call("GET", `/api-keys/${id}`);
  return { usageCount: Number(body.usageCount), lastUsedAt: body.lastUsedAt as string | null };
};

describe("an hourly limit", () => {
  it.each([1, 3, 100, 1_000])("%d admits exactly as many requests to 50 clients at two gateways", async (rateLimit) => {
    const { id, key } = await newKey(root, orgId, { rateLimit });
    const total = Math.max(200, Math.ceil(rateLimit * 1.3));
    const { admitted, refused, other } = await hammer(key, total);
    expect(other).toEqual([]);
    expect([admitted, refused]).toEqual([rateLimit, total - rateLimit]);
    const counted = await until("the use to be settled", async () => {
      const { usageCount } = await usageOf(id);
      return usageCount >= rateLimit ? usageCount : null;
    });
    expect(counted).toBe(rateLimit);
  });

  it("counts down in its headers", async () => {
    const { key } = await newKey(root, orgId, { rateLimit: 3 });
    const seen = [];
    for (let i = 0; i < 5; i++) {
      const reply = await me(gateways[0] as string, key);
      seen.push([reply.status, rateOf(reply).remaining]);
    }
    expect(seen).toEqual([
      [200, 2],
      [200, 1],
      [200, 0],
      [429, 0],
      [429, 0],
    ]);
  });

  it("admits more immediately when it is raised, at every gateway", async () => {
    const { id, key } = await newKey(root, orgId, { rateLimit: 2 });
    expect((await hammer(key, 10, 2)).admitted).toBe(2);
    expect((await root.call("PATCH", `/api-keys/${id}`, { rateLimit: 5 })).status).toBe(200);
    for (const url of gateways) expect((await me(url, key)).status).toBe(200);
    expect((await hammer(key, 10, 2)).admitted).toBe(1);
  });

  it("is reported with refusals and errors and for sessions, and never to unauthenticated callers", async () => {
    const { key } = await newKey(root, orgId);
    const call = (path: string, headers: Record<string, string>) =>
      fetch(`${cluster.url}/api/v1${path}`, { headers }).then((reply) => ({
        status: reply.status,
        headers: reply.headers,
      }));
    const denied = await call("/orgs", { "x-api-key": key });
    expect([denied.status, rateOf(denied).limit]).toEqual([403, 1_000]);
    const session = await root.call("GET", "/orgs/organizations/not-an-id");
    expect([session.status, rateOf(session).limit]).toEqual([400, 100_000]);
    const anonymous = await call("/auth/me", { "x-api-key": "nonsense" });
    expect([anonymous.status, anonymous.headers.get("x-ratelimit-limit")]).toEqual([401, null]);
  });
});

describe("usageCount", () => {
  it("is the number of admitted requests of both gateways, and lastUsedAt is about now", async () => {
    const { id, key } = await newKey(root, orgId, { rateLimit: 100_000 });
    const { admitted, other } = await hammer(key, 4_000);
    expect([admitted, other]).toEqual([4_000, []]);
    await until("all use to be settled", async () => (await usageOf(id)).usageCount >= 4_000);
    const { usageCount, lastUsedAt } = await usageOf(id);
    expect(usageCount).toBe(4_000);
    expect(Math.abs(Date.parse(String(lastUsedAt)) - Date.now())).toBeLessThan(10_000);
  });

  it("lacks at most the last second of a gateway that was killed", async () => {
    const { id, key } = await newKey(root, orgId, { rateLimit: 100_000 });
    const { gateways: running } = await cluster.stack();
    const victim = running[1] as { url: string; pid: number };
    const answeredMs: number[] = [];
    const endsMs = performance.now() + 3_000;
    while (performance.now() < endsMs) {
      expect((await me(victim.url, key)).status).toBe(200);
      answeredMs.push(performance.now());
    }
    const killedMs = performance.now();
    process.kill(victim.pid, "SIGKILL");
    const atLeast = answeredMs.filter((ms) => ms < killedMs - 1_000).length;
    const { usageCount } = await usageOf(id);
    expect(usageCount).toBeGreaterThanOrEqual(atLeast);
    expect(usageCount).toBeLessThanOrEqual(answeredMs.length);
    await until(
      "the gateway to be back",
      () =>
        fetch(`${victim.url}/health`).then(
          ({ ok }) => ok,
          () => false,
        ),
      30_000,
    );
  });
});
