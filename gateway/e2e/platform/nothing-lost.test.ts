import { randomUUID } from "node:crypto";
import { cp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { serviceNames } from "@muster/kit";
import { until } from "@muster/testing";
import { chainFacts, unpublished } from "../support/chain-facts.ts";
import { type Api, api, signIn } from "../support/client.ts";
import type { StackFile } from "../support/cluster.ts";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";

/** Between the creations of one client: those that go on all the time keep what was killed from starting again. */
const pauseMs = 50;

let cluster: LentCluster;
let root: Api;
const acknowledged: string[] = [];

beforeAll(async () => {
  cluster = await lentCluster("killed");
  root = api(cluster, (await signIn(cluster)).accessToken);
}, lendMs);
afterAll(() => cluster?.giveBack());

/** One creation as a careful client does it: a refused call is repeated, an acknowledged one is recorded. */
async function createPartner(): Promise<void> {
  const body = { name: "Under fire", slug: randomUUID() };
  await until(
    "a creation to be answered",
    async () => {
      const reply = await root.call("POST", "/orgs/partners", body).catch(() => null);
      if (reply?.status === 201) {
        acknowledged.push(reply.body.id as string);
        return true;
      }
      // 409: an earlier try was carried out though its answer was lost.
      if (reply?.status === 409) return true;
      if (reply && reply.status < 500)
        throw new Error(`creation answered ${reply.status} ${JSON.stringify(reply.body)}`);
      return false;
    },
    60_000,
  );
}

async function createWhile(action: () => Promise<void>): Promise<void> {
  let going = true;
  const clients = Array.from({ length: 4 }, async () => {
    while (going) {
      await createPartner();
      await delay(pauseMs);
    }
  });
  try {
    await action();
  } finally {
    going = false;
  }
  await Promise.all(clients);
}

const healthy = () =>
  until(
    "the cluster to be healthy again",
    async () => {
      const reply = await fetch(`${cluster.url}/health`).catch(() => null);
      return reply?.ok && ((await reply.json()) as { status: string }).status === "ok";
    },
    60_000,
  );

/** Every acknowledged partner is there with exactly one audit row, and every chain is gap-free. */
async function expectNothingLost(): Promise<void> {
  const facts = await until(
    "every audit row",
    async () => {
      const now = await chainFacts(cluster);
      return now.partners.every((id) => now.created.has(id)) ? now : null;
    },
    60_000,
  );
  const there = new Set(facts.partners);
  expect(acknowledged.filter((id) => !there.has(id))).toEqual([]);
  expect([...facts.created.values()].every((n) => n === 1)).toBe(true);
  expect(facts.created.size).toBe(facts.partners.length);
  expect(facts.broken).toEqual([]);
}

const pidOf = (stack: StackFile, name: string): number => {
  if (name === "nats") return stack.nats.pid;
  if (name === "postgres") return stack.postgres.pid;
  if (name === "gateway") return (stack.gateways[0] as { pid: number }).pid;
  return (stack.services[name] as { pid: number }).pid;
};

async function kill9(name: string): Promise<void> {
  const pid = pidOf(await cluster.stack(), name);
  process.kill(pid, "SIGKILL");
  await until(`another ${name}`, async () => {
    const now = pidOf(await cluster.stack(), name);
    return now && now !== pid;
  });
  await healthy();
}

describe("nothing acknowledged is lost", () => {
  it.each([...serviceNames, "gateway", "nats", "postgres"])(
    "when %s is killed -9 under a loop of creations",
    async (name) => {
      const before = acknowledged.length;
      await createWhile(async () => {
        await until("some creations", () => acknowledged.length >= before + 10);
        await kill9(name);
        const restarted = acknowledged.length;
        await until("creations to go on", () => acknowledged.length >= restarted + 10, 60_000);
      });
      await expectNothingLost();
    },
    180_000,
  );

  it.each(["an older copy of the message store is put back", "the whole message store is deleted"])(
    "when %s",
    async (what) => {
      const store = join(cluster.dataDir, "nats", "store");
      const copy = `${store}-copy`;
      await createPartner();
      await expectNothingLost();
      await whileNatsIsDown(() => cp(store, copy, { recursive: true }));
      await healthy();
      // Sealed before the loss: they must not come twice.
      for (let i = 0; i < 10; i++) await createPartner();
      await expectNothingLost();
      // Acknowledged by the stream and not yet sealed when it is lost.
      const audit = pidOf(await cluster.stack(), "audit");
      process.kill(audit, "SIGSTOP");
      try {
        for (let i = 0; i < 10; i++) await createPartner();
        await everythingPublished();
        await whileNatsIsDown(async () => {
          await rm(store, { recursive: true });
          if (what.startsWith("an older copy")) await cp(copy, store, { recursive: true });
        });
      } finally {
        process.kill(audit, "SIGCONT");
      }
      await rm(copy, { recursive: true });
      await healthy();
      for (let i = 0; i < 5; i++) await createPartner();
      await expectNothingLost();
    },
    180_000,
  );
});

describe("a creation that is repeated under its Idempotency-Key until it is answered", () => {
  it.each(["tenancy", "postgres", "gateway"])(
    "is made exactly once when %s is killed -9 meanwhile",
    async (name) => {
      const { body: partner } = await root.call("POST", "/orgs/partners", { name: "Once", slug: randomUUID() });
      const wanted = { partnerId: partner.id, name: "Once", slug: randomUUID() };
      const { body: organization } = await root.call("POST", "/orgs/organizations", wanted);
      const orgId = organization.id as string;
      const made: string[] = [];
      // Sites, because nothing else would keep two of the same name apart.
      const createSite = async () => {
        const headers = { "idempotency-key": randomUUID() };
        const body = { orgId, name: "Once" };
        const id = await until(
          "a creation to be answered",
          async () => {
            const reply = await root.call("POST", "/orgs/sites", body, headers).catch(() => null);
            if (reply && reply.status < 500 && reply.status !== 201) throw new Error(`answered ${reply.status}`);
            return reply?.status === 201 && (reply.body.id as string);
          },
          60_000,
        );
        made.push(id as string);
      };
      let going = true;
      const clients = Array.from({ length: 4 }, async () => {
        while (going) {
          await createSite();
          await delay(pauseMs);
        }
      });
      try {
        await until("some creations", () => made.length >= 10);
        await kill9(name);
        const restarted = made.length;
        await until("creations to go on", () => made.length >= restarted + 10, 60_000);
      } finally {
        going = false;
      }
      await Promise.all(clients);
      const stored: string[] = [];
      let cursor = "";
      do {
        const { body } = await root.call("GET", `/orgs/sites?orgId=${orgId}&limit=100&cursor=${cursor}`);
        stored.push(...(body.data as { id: string }[]).map(({ id }) => id));
        cursor = (body.pagination as { nextCursor: string | null }).nextCursor ?? "";
      } while (cursor !== "");
      expect(stored.sort()).toEqual(made.sort());
    },
    180_000,
  );
});

/** Kills NATS and keeps its supervisor from starting another until `action` is done. */
async function whileNatsIsDown(action: () => Promise<void>): Promise<void> {
  const stack = await cluster.stack();
  process.kill(stack.supervisor.pid, "SIGSTOP");
  try {
    process.kill(stack.nats.pid, "SIGKILL");
    await until("NATS to end", async () => !(await answersTcp(stack.natsUrl)));
    await action();
  } finally {
    process.kill(stack.supervisor.pid, "SIGCONT");
  }
  await until("another NATS", async () => (await cluster.stack()).nats.pid !== stack.nats.pid);
}

async function answersTcp(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

async function everythingPublished(): Promise<void> {
  await until("tenancy's outbox to be published", async () => (await unpublished(cluster)) === 0);
}
