import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { newApiKeyText } from "@muster/kit";
import { until } from "@muster/testing";
import { api, type Reply } from "../support/client.ts";
import { admin, type Cluster } from "../support/cluster.ts";
import { type LentCluster, lendMs, lentCluster, signInLimits } from "../support/lent-cluster.ts";

const { failuresPerAddress, unknownKeys } = signInLimits;
let cluster: LentCluster;
let gateways: Cluster[];

beforeAll(async () => {
  cluster = await lentCluster("signIn", { last: true });
  gateways = (await cluster.stack()).gateways.map(({ url }) => ({ ...cluster, url }));
  expect(gateways).toHaveLength(2);
}, lendMs);
afterAll(() => cluster?.giveBack(), 60_000);

let turn = 0;
/** Calls the gateways in turn, which call the identities in turn. */
const somewhere = () => api(gateways[turn++ % gateways.length] as Cluster);
/** The answer to a login once a gateway has time for it: a busy gateway answers 503 without checking the password. */
const login = (address: string, change: Partial<typeof admin> = {}): Promise<Reply> =>
  until("a login to be decided", async () => {
    const reply = await somewhere().call(
      "POST",
      "/auth/login",
      { ...admin, ...change },
      { "x-forwarded-for": address },
    );
    return reply.status === 503 ? null : reply;
  });
const wrong = { password: "wrong" };
const count = (replies: readonly Reply[], status: number) => replies.filter((reply) => reply.status === status).length;

describe("wrong passwords", () => {
  it.each([
    ["for an account", "203.0.113.1", admin.email],
    ["for an account that does not exist", "203.0.113.2", "nobody@example.com"],
  ])("%s are decided exactly ten times though fifty come together to two gateways", async (_name, address, email) => {
    const replies = await Promise.all(Array.from({ length: 50 }, () => login(address, { ...wrong, email })));
    expect([count(replies, 401), count(replies, 429)]).toEqual([10, 40]);
    const refused = await login(address, { email });
    expect([refused.status, refused.body.code]).toEqual([429, "rate_limited"]);
    const retryAfter = Number(refused.headers.get("retry-after"));
    expect(retryAfter).toBeGreaterThan(200);
    expect(retryAfter).toBeLessThanOrEqual(300);
  });

  it("do not affect clients from other addresses", async () => {
    for (let i = 0; i < 10; i++) expect((await login("203.0.113.3", wrong)).status).toBe(401);
    expect((await login("203.0.113.3")).status).toBe(429);
    expect((await login("203.0.113.4")).status).toBe(200);
  });

  it("are forgotten with the right one", async () => {
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 9; i++) expect((await login("203.0.113.5", wrong)).status).toBe(401);
      expect((await login("203.0.113.5")).status).toBe(200);
    }
  });

  it("for many accounts end at the address's own limit", async () => {
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, i) => login(`2001:db8:5:5::${i + 1}`, { email: `person-${i}@example.com` })),
    );
    expect([count(replies, 401), count(replies, 429)]).toEqual([failuresPerAddress, 20]);
    expect((await login("2001:db8:5:5:ffff::1")).status).toBe(429);
    expect((await login("2001:db8:5:6::1")).status).toBe(200);
  });
});

describe("unknown API keys", () => {
  const ask = (address: string) =>
    somewhere().call("GET", "/auth/me", undefined, { "x-api-key": newApiKeyText(), "x-forwarded-for": address });

  it("are refused as such up to the limit, then with 429 and Retry-After, for that address", async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => ask("203.0.113.20")));
    expect([count(replies, 401), count(replies, 429)]).toEqual([unknownKeys, 20 - unknownKeys]);
    const refused = replies.find(({ status }) => status === 429);
    expect(refused?.body.code).toBe("rate_limited");
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(30);
    expect((await ask("203.0.113.21")).status).toBe(401);
  });
});

// The last test of this file: the cluster is stopped afterwards.
describe("while the cluster is stopped by Ctrl-C", () => {
  it("a login is served, answered 503 or not connected, never anything else", async () => {
    const { supervisor } = await cluster.stack();
    const answers = new Set<string>();
    let gone = 0;
    const knock = async () => {
      while (gone < 20) {
        const reply = await fetch(`${cluster.url}/api/v1/auth/login`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(admin),
        }).catch(() => null);
        if (reply === null) gone++;
        else
          answers.add(
            reply.status === 200 ? "200" : `${reply.status} ${((await reply.json()) as { code: string }).code}`,
          );
      }
    };
    const knocking = Promise.all(Array.from({ length: 8 }, knock));
    await until("logins to be served", () => answers.has("200"));
    // As a terminal does: all processes get the signal at once.
    process.kill(-supervisor.pid, "SIGINT");
    await knocking;
    expect([...answers].filter((answer) => !/^(200$|503 )/.test(answer))).toEqual([]);
  }, 60_000);
});
