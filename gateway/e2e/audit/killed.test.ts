import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import pg from "pg";
import { type Api, api, signIn } from "../support/client.ts";
import type { StackFile } from "../support/cluster.ts";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";

// 200 parallel mutations of one organization while the sealer is killed ten times, NATS and PostgreSQL once each.

const mutations = 200;
const sealerKills = 10;

let cluster: LentCluster;
let root: Api;
beforeAll(async () => {
  cluster = await lentCluster("killed");
  root = api(cluster, (await signIn(cluster)).accessToken);
}, lendMs);
afterAll(() => cluster?.giveBack());

const pidOf = (stack: StackFile, name: string): number | null => {
  if (name === "nats") return stack.nats.pid;
  return name === "postgres" ? stack.postgres.pid : (stack.services[name]?.pid ?? null);
};

/** Kills a process, and waits for its replacement. */
async function kill9(name: string): Promise<void> {
  const pid = await until(`${name} to run`, async () => pidOf(await cluster.stack(), name), 120_000);
  process.kill(pid, "SIGKILL");
  await until(
    `another ${name}`,
    async () => {
      const now = pidOf(await cluster.stack(), name);
      return now !== null && now !== pid;
    },
    120_000,
  );
}

/** A creation as a careful client makes it: repeated under its key until it is answered. */
async function created(path: string, body: object): Promise<string> {
  const headers = { "idempotency-key": randomUUID() };
  return until(
    "a creation to be answered",
    async () => {
      const reply = await root.call("POST", path, body, headers).catch(() => null);
      if (reply && reply.status < 500 && reply.status !== 201) throw new Error(`answered ${reply.status}`);
      return reply?.status === 201 ? String(reply.body.id) : null;
    },
    240_000,
  );
}

describe("the chain of an organization", () => {
  it("is seq 1..n without a fork, with nothing lost or doubled, whichever process is killed", async () => {
    const partnerId = await created("/orgs/partners", { name: "Chaos", slug: randomUUID() });
    const orgId = await created("/orgs/organizations", { partnerId, name: "Chaos", slug: randomUUID() });
    const making = Promise.all(
      Array.from({ length: mutations }, (_, n) => created("/orgs/sites", { orgId, name: `Site ${n}` })),
    );
    for (let n = 0; n < sealerKills; n++) {
      await kill9("audit");
      if (n === 3) await kill9("nats");
      if (n === 6) await kill9("postgres");
    }
    const sites = await making;
    expect(new Set(sites).size).toBe(mutations);

    const client = new pg.Client({ connectionString: (await cluster.stack()).databaseUrl });
    await client.connect();
    try {
      const rows = await until(
        "every row to be sealed",
        async () => {
          const { rows: found } = await client.query<{ seq: string; id: string; action: string; resource_id: string }>(
            "SELECT seq, id, action, resource_id FROM audit.audit_log WHERE chain_id = $1 ORDER BY seq",
            [orgId],
          );
          const audited = new Set(found.map(({ resource_id }) => resource_id));
          return sites.every((id) => audited.has(id)) ? found : null;
        },
        240_000,
      );
      expect(rows.map(({ seq }) => Number(seq))).toEqual(rows.map((_, n) => n + 1));
      expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
      const sealed = rows.filter(({ action }) => action === "site.create").map(({ resource_id }) => resource_id);
      expect(sealed.sort()).toEqual([...sites].sort());
    } finally {
      await client.end();
    }

    const id = await until(
      "the verification to be taken",
      async () => {
        const reply = await root.call("POST", "/audit-logs/verify", { orgId }).catch(() => null);
        return reply?.status === 202 ? String(reply.body.id) : null;
      },
      120_000,
    );
    const verdicts = await until(
      "the verdicts",
      async () => {
        const reply = await root.call("GET", `/audit-logs/verify/${id}`).catch(() => null);
        return reply?.body.status === "done" ? (reply.body.verdicts as { verdict: string; rows: number }[]) : null;
      },
      120_000,
    );
    expect(verdicts[0]?.verdict).toBe("OK");
    expect(verdicts.map(({ verdict }) => verdict).filter((each) => each !== "UNPROTECTED_TAIL")).toEqual(["OK"]);
  }, 900_000);
});
