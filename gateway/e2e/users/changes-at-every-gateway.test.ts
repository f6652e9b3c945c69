import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Api, api } from "../support/client.ts";
import type { StackFile } from "../support/cluster.ts";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { newOrganization, newPartner, operator, roleId, signedInAs, type TestUser } from "../support/users.ts";

/** Longest that a change takes: a gateway that is away keeps its lease for 2 s. A busy machine delays some replies. */
const worstMs = 2_600;

let cluster: LentCluster;
let root: Api;
let stack: StackFile;
let partnerId: string;
let orgs: string[];
beforeAll(async () => {
  cluster = await lentCluster("twoGateways");
  root = await operator(cluster);
  stack = await cluster.stack();
  partnerId = await newPartner(cluster);
  orgs = [await newOrganization(cluster, partnerId), await newOrganization(cluster, partnerId)];
}, lendMs);
afterAll(async () => {
  await cluster?.giveBack();
});

type Reply = { status: number; code: string | undefined };
async function request(url: string, user: TestUser, path: string): Promise<Reply> {
  const reply = await fetch(`${url}/api/v1${path}`, { headers: { authorization: `Bearer ${user.accessToken}` } });
  return { status: reply.status, code: ((await reply.json()) as { code?: string }).code };
}

/** The answer to a user at each gateway. */
const everywhere = (user: TestUser, path: string) =>
  Promise.all(stack.gateways.map(async ({ url }) => (await request(url, user, path)).code ?? "served"));

const both = (code: string) => stack.gateways.map(() => code);

/** A viewer of the first organization whom both gateways have cached and serve at this path. */
async function served(path: string): Promise<TestUser> {
  const user = await signedInAs(cluster, "org-viewer", { orgId: orgs[0] ?? "" });
  expect(await everywhere(user, path)).toEqual(both("served"));
  return user;
}

/** Makes the change, which must answer; at once every gateway answers with the code. */
async function expectApplied(user: TestUser, path: string, change: () => Promise<{ status: number }>, code: string) {
  expect((await change()).status).toBe(200);
  expect(await everywhere(user, path)).toEqual(both(code));
}

const rounds = 10;

describe("the next request on every gateway knows", () => {
  it("a role that was taken away", async () => {
    const viewer = await roleId(root, "org-viewer");
    const admin = await roleId(root, "org-admin");
    const empty = (await root.call("POST", "/roles", { name: `E ${randomUUID()}`, permissions: [], orgId: orgs[0] }))
      .body;
    const user = await served("/users?limit=1");
    for (let i = 0; i < rounds; i++) {
      const set = (id: unknown) => () => root.call("PATCH", `/users/${user.id}`, { roleId: id });
      await expectApplied(user, "/users?limit=1", set(empty.id), "permission_denied");
      await expectApplied(user, "/users?limit=1", set(i % 2 === 0 ? admin : viewer), "served");
    }
  }, 120_000);

  it("a grant that was removed, and one that was given", async () => {
    const [first, second] = orgs as [string, string];
    const user = await signedInAs(cluster, "partner-technician", { partnerId, orgIds: orgs });
    const path = `/orgs/organizations/${second}`;
    expect(await everywhere(user, path)).toEqual(both("served"));
    for (let i = 0; i < rounds; i++) {
      const grant = (change: object) => () => root.call("PATCH", `/users/${user.id}`, change);
      await expectApplied(user, path, grant({ orgIds: [first] }), "organization_not_found");
      await expectApplied(user, path, grant({ orgAccess: "all" }), "served");
      await expectApplied(user, path, grant({ orgAccess: "none" }), "organization_not_found");
      await expectApplied(user, path, grant({ orgIds: [first, second] }), "served");
    }
  }, 120_000);

  it("an edited custom role, for every user who has it", async () => {
    const body = { name: `C ${randomUUID()}`, permissions: ["users:read"], orgId: orgs[0] };
    const { id } = (await root.call("POST", "/roles", body)).body;
    const users = await Promise.all(
      Array.from({ length: 5 }, () => signedInAs(cluster, "org-viewer", { orgId: orgs[0] ?? "" })),
    );
    for (const user of users) {
      expect((await root.call("PATCH", `/users/${user.id}`, { roleId: id })).status).toBe(200);
      expect(await everywhere(user, "/users?limit=1")).toEqual(both("served"));
    }
    for (let i = 0; i < rounds; i++) {
      for (const [held, code] of [
        [["roles:read"], "permission_denied"],
        [["users:read"], "served"],
      ] as const) {
        // A new name each time, too: cached users of the role are found by the previous name.
        const change = { permissions: held, name: `C ${randomUUID()}` };
        expect((await root.call("PATCH", `/roles/${id}`, change)).status).toBe(200);
        const answers = await Promise.all(users.map((user) => everywhere(user, "/users?limit=1")));
        expect(answers).toEqual(users.map(() => both(code)));
      }
    }
  }, 120_000);

  it.each([
    ["disabled", (id: string) => root.call("POST", `/users/${id}/disable`)],
    ["removed", (id: string) => root.call("DELETE", `/users/${id}`)],
  ])(
    "that a user was %s, under load: no request that starts after the answer is admitted",
    async (_what, end) => {
      for (let i = 0; i < 5; i++) {
        const user = await signedInAs(cluster, "org-viewer", { orgId: orgs[0] ?? "" });
        const admitted: number[] = [];
        const refusals = new Set<string>();
        let going = true;
        let trials = 0;
        const clients = stack.gateways.flatMap(({ url }) =>
          [1, 2].map(async () => {
            while (going) {
              const startedMs = performance.now();
              const { status, code } = await request(url, user, "/auth/me");
              trials++;
              if (status === 200) admitted.push(startedMs);
              else refusals.add(`${status} ${code}`);
            }
          }),
        );
        await until("both gateways to know the user", () => trials > 20);
        expect((await end(user.id)).status).toBe(200);
        const answeredMs = performance.now();
        const before = trials;
        await until("requests after the answer", () => trials > before + 40);
        going = false;
        await Promise.all(clients);
        expect(admitted.length).toBeGreaterThan(10);
        expect(admitted.filter((startedMs) => startedMs > answeredMs)).toEqual([]);
        expect([...refusals]).toEqual(["401 session_revoked"]);
      }
    },
    120_000,
  );

  it("while one of them is stopped: its first requests when it goes on are refused", async () => {
    const [, victim] = stack.gateways as [unknown, StackFile["gateways"][number]];
    const tookMs: number[] = [];
    for (let trial = 0; trial < 3; trial++) {
      const user = await served("/users?limit=1");
      process.kill(victim.pid, "SIGSTOP");
      let waiting: Promise<Reply[]>;
      try {
        const startedMs = performance.now();
        expect((await root.call("POST", `/users/${user.id}/disable`)).status).toBe(200);
        tookMs.push(performance.now() - startedMs);
        waiting = Promise.all(Array.from({ length: 5 }, () => request(victim.url, user, "/users?limit=1")));
      } finally {
        process.kill(victim.pid, "SIGCONT");
      }
      expect(new Set((await waiting).map(({ code }) => code))).toEqual(new Set(["session_revoked"]));
    }
    expect(Math.min(...tookMs)).toBeLessThan(worstMs);
  }, 60_000);
});

describe("a disabled user", () => {
  it("comes back with a new sign-in only", async () => {
    const user = await served("/auth/me");
    await root.call("POST", `/users/${user.id}/disable`);
    const login = () => api(cluster).call("POST", "/auth/login", { email: user.email, password: user.password });
    expect((await login()).status).toBe(401);
    expect((await root.call("POST", `/users/${user.id}/enable`)).body.status).toBe("active");
    expect(await everywhere(user, "/auth/me")).toEqual(both("session_revoked"));
    expect((await login()).status).toBe(200);
  });
});
