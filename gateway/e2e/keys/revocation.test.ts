import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Api, api } from "../support/client.ts";
import type { StackFile } from "../support/cluster.ts";
import { newTenant } from "../support/enroller.ts";
import { me, type NewKey, newKey } from "../support/keys.ts";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { operator, signedInAs, signInAgain } from "../support/users.ts";

/** Longest that a revocation takes: a gateway that is away keeps its lease for 2 s. A busy machine delays some. */
const worstMs = 2_600;

let cluster: LentCluster;
let root: Api;
let orgId: string;
let stack: StackFile;
let gateways: string[];

beforeAll(async () => {
  cluster = await lentCluster("twoGateways");
  root = await operator(cluster);
  ({ orgId } = await newTenant(root));
  stack = await cluster.stack();
  gateways = stack.gateways.map(({ url }) => url);
  await until("the organization to arrive at identity", async () => {
    const reply = await root.call("POST", "/api-keys", { orgId, name: "First" });
    return reply.status === 201;
  });
}, lendMs);
afterAll(async () => {
  await cluster?.giveBack();
});

/** A credential under use at all gateways by clients that never pause. */
type Load = { stop(): Promise<void>; trials: number; admittedAfter(ms: number): number; refusals: Set<string> };

function load(request: (url: string) => Promise<{ status: number; code: string }>, clientsPerGateway = 2): Load {
  const admittedStartsMs: number[] = [];
  const refusals = new Set<string>();
  let going = true;
  let trials = 0;
  const clients = gateways.flatMap((url) =>
    Array.from({ length: clientsPerGateway }, async () => {
      while (going) {
        const startedMs = performance.now();
        const { status, code } = await request(url);
        trials++;
        if (status === 200) admittedStartsMs.push(startedMs);
        else refusals.add(`${status} ${code}`);
      }
    }),
  );
  return {
    refusals,
    get trials() {
      return trials;
    },
    admittedAfter: (ms) => admittedStartsMs.filter((started) => started > ms).length,
    async stop() {
      going = false;
      await Promise.all(clients);
    },
  };
}

const withKey = (key: string) => async (url: string) => {
  const { status, body } = await me(url, key);
  return { status, code: String(body.code ?? "") };
};
const withToken = (token: string) => async (url: string) => {
  const reply = await fetch(`${url}/api/v1/auth/me`, { headers: { authorization: `Bearer ${token}` } });
  return { status: reply.status, code: String(((await reply.json()) as { code?: string }).code ?? "") };
};

/**
 * Makes a change under load: nothing that starts after its answer is admitted, and all refusals are the one expected.
 */
async function expectEnded(load: Load, change: () => Promise<{ status: number }>, refusal: string): Promise<number> {
  const before = load.trials;
  await until("both gateways to know the credential", () => load.trials > before + 20);
  const revokedMs = performance.now();
  const { status } = await change();
  const answeredMs = performance.now();
  expect(status).toBeLessThan(300);
  expect(load.admittedAfter(0)).toBeGreaterThan(10);
  const after = load.trials;
  await until("requests after the answer", () => load.trials > after + 40);
  await load.stop();
  expect(load.admittedAfter(answeredMs)).toBe(0);
  expect([...load.refusals]).toEqual([refusal]);
  return answeredMs - revokedMs;
}

/** A key of an organization that identity may not know yet. */
async function newKeyOf(org: string): Promise<NewKey> {
  let made: NewKey | null = null;
  await until("the organization to arrive at identity", async () => {
    made = await newKey(root, org, { rateLimit: 100_000 }).catch(() => null);
    return made !== null;
  });
  return made as unknown as NewKey;
}

const everywhere = async (key: string) =>
  Promise.all(gateways.map(async (url) => String((await me(url, key)).body.code ?? "admitted")));

describe("from the answer on, nothing is admitted at any gateway", () => {
  it("after a key was revoked", async () => {
    const took: number[] = [];
    for (let i = 0; i < 40; i++) {
      const { id, key } = await newKey(root, orgId, { rateLimit: 100_000 });
      const revoke = () => root.call("DELETE", `/api-keys/${id}`);
      took.push(await expectEnded(load(withKey(key)), revoke, "401 api_key_revoked"));
    }
    took.sort((a, b) => a - b);
    expect(took[20]).toBeLessThan(500);
  }, 120_000);

  it("after it was rotated, and the new one is admitted everywhere", async () => {
    for (let i = 0; i < 10; i++) {
      const { id, key } = await newKey(root, orgId, { rateLimit: 100_000 });
      let next = "";
      const rotate = async () => {
        const reply = await root.call("POST", `/api-keys/${id}/rotate`);
        next = String(reply.body.key);
        return reply;
      };
      await expectEnded(load(withKey(key)), rotate, "401 api_key_invalid");
      expect(await everywhere(next)).toEqual(["admitted", "admitted"]);
    }
  }, 60_000);

  it("after its service principal was disabled", async () => {
    const created = await root.call("POST", "/service-principals", { orgId, name: "Robot", scopes: [] });
    const { key } = created.body as NewKey;
    const disable = () => root.call("POST", `/service-principals/${String(created.body.id)}/disable`);
    await expectEnded(load(withKey(key)), disable, "401 api_key_revoked");
  });

  it("after a logout", async () => {
    const user = await signedInAs(cluster, "platform-admin");
    for (let i = 0; i < 10; i++) {
      const { accessToken } = await signInAgain(cluster, user);
      const logout = () => api(cluster, accessToken).call("POST", "/auth/logout");
      await expectEnded(load(withToken(accessToken)), logout, "401 session_revoked");
    }
  }, 60_000);

  it("after every credential of an organization was revoked, and only of that one", async () => {
    const mine = (await newTenant(root)).orgId;
    const { key } = await newKeyOf(mine);
    const kept = await newKey(root, orgId, { rateLimit: 100_000 });
    const user = await signedInAs(cluster, "org-admin", { orgId: mine });
    const refusals = ["401 api_key_revoked", "401 session_revoked"];
    const loads = [load(withKey(key)), load(withToken(user.accessToken))];
    await until("both to be in use", () => loads.every(({ trials }) => trials > 20));
    const { status, body } = await root.call("POST", `/orgs/organizations/${mine}/revoke-credentials`);
    const answeredMs = performance.now();
    expect([status, body]).toEqual([
      200,
      { apiKeys: 1, servicePrincipals: 0, enrollmentKeys: 0, sessions: 1, directoryTokens: 0 },
    ]);
    const before = loads.map(({ trials }) => trials);
    await until("requests after the answer", () => loads.every(({ trials }, i) => trials > Number(before[i]) + 40));
    await Promise.all(loads.map((each) => each.stop()));
    expect(loads.map((each) => each.admittedAfter(answeredMs))).toEqual([0, 0]);
    expect(loads.map((each) => [...each.refusals])).toEqual(refusals.map((refusal) => [refusal]));
    expect(await everywhere(kept.key)).toEqual(["admitted", "admitted"]);
    expect((await signInAgain(cluster, user)).accessToken).not.toBe("");
  }, 60_000);

  it.each([
    ["", []],
    [" and NATS away, so that only its lease limits admission", ["nats"]],
  ])(
    "with a gateway stopped during the call%s: its first requests when it goes on are refused",
    async (_name, away) => {
      const [, victim] = stack.gateways as [unknown, StackFile["gateways"][number]];
      const stopped = [...away.map(() => stack.nats.pid), victim.pid];
      const tookMs: number[] = [];
      for (let i = 0; i < 3; i++) {
        const { id, key } = await newKey(root, orgId);
        // Five connections that stay open, so that requests wait in them when the gateway goes on.
        const five = () => Promise.all(Array.from({ length: 5 }, async () => (await withKey(key)(victim.url)).code));
        expect(new Set(await five())).toEqual(new Set([""]));
        for (const pid of stopped) process.kill(pid, "SIGSTOP");
        const startedMs = performance.now();
        let waiting: Promise<string[]>;
        try {
          expect((await root.call("DELETE", `/api-keys/${id}`)).status).toBe(200);
          tookMs.push(performance.now() - startedMs);
          waiting = five();
        } finally {
          process.kill(victim.pid, "SIGCONT");
        }
        expect(new Set(await waiting)).toEqual(new Set(["api_key_revoked"]));
        for (const pid of stopped) process.kill(pid, "SIGCONT");
        await until("the gateway to serve from its lease again", async () => (await fetch(`${victim.url}/health`)).ok);
      }
      expect(Math.min(...tookMs)).toBeLessThan(worstMs);
    },
    60_000,
  );

  it("with NATS away: heartbeats bring the change", async () => {
    const keys = await Promise.all(Array.from({ length: 5 }, () => newKey(root, orgId, { rateLimit: 100_000 })));
    for (const { key } of keys) expect(await everywhere(key)).toEqual(["admitted", "admitted"]);
    process.kill(stack.nats.pid, "SIGSTOP");
    const tookMs: number[] = [];
    try {
      for (const { id, key } of keys) {
        const revoke = () => root.call("DELETE", `/api-keys/${id}`);
        tookMs.push(await expectEnded(load(withKey(key)), revoke, "401 api_key_revoked"));
      }
      expect(Math.min(...tookMs)).toBeLessThan(worstMs);
    } finally {
      process.kill(stack.nats.pid, "SIGCONT");
    }
  }, 60_000);

  it("with identity away: what is cached ends with the lease", async () => {
    const { key } = await newKey(root, orgId, { rateLimit: 100_000 });
    expect(await everywhere(key)).toEqual(["admitted", "admitted"]);
    const { pid } = stack.services.identity as { pid: number };
    process.kill(pid, "SIGSTOP");
    const stoppedMs = performance.now();
    try {
      const admitted: number[] = [];
      await until("both gateways to refuse", async () => {
        const startedMs = performance.now() - stoppedMs;
        const replies = await Promise.all(gateways.map((url) => me(url, key)));
        for (const { status, headers } of replies) {
          if (status === 200) admitted.push(startedMs);
          else expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
        }
        return performance.now() - stoppedMs > 3_000;
      });
      expect(Math.max(0, ...admitted)).toBeLessThan(worstMs);
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await until("the key to be admitted again", async () =>
      (await everywhere(key)).every((code) => code === "admitted"),
    );
  }, 60_000);
});
