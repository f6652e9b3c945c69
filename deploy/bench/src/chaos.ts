import { randomInt, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type RunningStack, startStack } from "@muster/local";
import pg from "pg";
import { killOne } from "./kill-one.ts";
import type { Report } from "./report.ts";

const password = "correct horse battery staple";
const clients = 4;

/**
 * `npm run bench -- chaos [kills]`: kill −9 of a random process, NATS and PostgreSQL included, every 2–6 s (20 kills
 * when not said, 200 at most) while clients create partners and make refused calls again. Then counts: every 201 there,
 * one audit row each, every chain gap-free. Ends with status 1 when anything is missing, doubled or broken.
 */
export async function run(args: string[], report: Report): Promise<void> {
  const kills = Math.min(Number(args[0] ?? 20), 200);
  const running = await startStack({ adminPassword: password, env: { PASSWORD_SCRYPT_LOG_N: "12" } });
  try {
    const load = startLoad(running);
    const killed: string[] = [];
    for (let i = 0; i < kills; i++) {
      await delay(randomInt(2_000, 6_000));
      killed.push(killOne(running, () => true));
    }
    await delay(3_000);
    const { acknowledged, refused } = await load.stop();
    const facts = await settled(running);
    const missing = acknowledged.filter((id) => !facts.partners.has(id)).length;
    console.log(`killed: ${killed.join(", ")}`);
    console.table([
      {
        kills,
        acknowledged: acknowledged.length,
        "calls made again": refused,
        "missing partners": missing,
        "without audit row": facts.unaudited,
        "audited twice": facts.doubled,
        "broken chains": facts.broken,
        "settled after s": facts.seconds,
      },
    ]);
    report.none({
      "missing partners": missing,
      "without audit row": facts.unaudited,
      "audited twice": facts.doubled,
      "broken chains": facts.broken,
    });
    report.also("kills", kills, "");
    report.also("acknowledged", acknowledged.length, "writes");
    report.also("calls made again", refused, "");
    report.also("settled after", facts.seconds, "s");
    if (missing + facts.unaudited + facts.doubled + facts.broken > 0) process.exitCode = 1;
  } finally {
    await running.stop();
  }
}

function startLoad(running: RunningStack) {
  const url = running.stack.gateways[0]?.url ?? "";
  const acknowledged: string[] = [];
  let refused = 0;
  let going = true;
  const post = async (path: string, body: object, token?: string) => {
    const headers = { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) };
    const reply = await fetch(`${url}/api/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: reply.status, body: (await reply.json()) as Record<string, string> };
  };
  const again = async <T>(attempt: () => Promise<T | null>): Promise<T> => {
    for (;;) {
      const result = await attempt().catch(() => null);
      if (result !== null) return result;
      refused += 1;
      await delay(50);
    }
  };
  const one = async () => {
    const signIn = () =>
      again(async () => {
        const { status, body } = await post("/auth/login", { email: "admin@muster.local", password });
        return status === 200 ? (body.accessToken as string) : null;
      });
    let token = await signIn();
    while (going) {
      const slug = randomUUID();
      const id = await again(async () => {
        const { status, body } = await post("/orgs/partners", { name: "Chaos", slug }, token);
        if (status === 201) return body.id as string;
        // Carried out by a try whose answer was lost.
        if (status === 409) return "";
        if (status === 401) token = await signIn();
        return null;
      });
      if (id !== "") acknowledged.push(id);
    }
  };
  const all = Promise.all(Array.from({ length: clients }, one));
  return {
    async stop() {
      going = false;
      await all;
      return { acknowledged, refused };
    },
  };
}

/** Waits (2 min at most) until every partner has its audit row, then counts what is wrong. */
async function settled(running: RunningStack) {
  const began = performance.now();
  const client = new pg.Client({ connectionString: running.refresh().databaseUrl });
  await client.connect();
  try {
    for (;;) {
      const { rows: partners } = await client.query<{ id: string; n: number }>(
        `SELECT p.id, count(l.id)::int AS n FROM tenancy.partners p
         LEFT JOIN audit.audit_log l ON l.chain_id = p.id AND l.action = 'partner.create' GROUP BY p.id`,
      );
      const unaudited = partners.filter(({ n }) => n === 0).length;
      const ms = performance.now() - began;
      if (unaudited > 0 && ms < 120_000) {
        await delay(250);
        continue;
      }
      const { rows: broken } = await client.query(
        `SELECT h.chain_id FROM audit.chain_head h LEFT JOIN audit.audit_log l USING (chain_id) GROUP BY h.chain_id, h.seq
         HAVING count(l.seq) <> h.seq OR coalesce(min(l.seq), 1) <> 1 OR coalesce(max(l.seq), 0) <> h.seq`,
      );
      return {
        partners: new Set(partners.map(({ id }) => id)),
        unaudited,
        doubled: partners.filter(({ n }) => n > 1).length,
        broken: broken.length,
        seconds: Math.round(ms / 100) / 10,
      };
    }
  } finally {
    await client.end();
  }
}
