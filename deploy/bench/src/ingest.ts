import { startStack } from "@muster/local";
import pg from "pg";
import { Pool } from "undici";
import { administrator, newOrganization, password } from "./administrator.ts";
import { type BenchAgent, enrollFleet, quantile } from "./fleet.ts";
import type { Report } from "./report.ts";

const rowsPerRequest = 500;
const senders = 8;
const warmMs = 3_000;
const roundMs = 5_000;
const fleet = 200;

/**
 * `npm run bench -- ingest [rounds]`: diagnostic log rows through the gateway in requests of 500, against the same rows
 * written by one raw INSERT … SELECT FROM unnest each into the same table, alternately. Ends with status 1 below 35 %
 * of raw.
 */
export async function run(args: string[], report: Report): Promise<void> {
  const rounds = Number(args[0] ?? 4);
  const running = await startStack({
    adminPassword: password,
    env: { PASSWORD_SCRYPT_LOG_N: "10", LOG_LEVEL: "warn" },
  });
  try {
    const url = running.stack.gateways[0]?.url ?? "";
    const root = await administrator(url);
    const { orgId, partnerId } = await newOrganization(root);
    const agents = await enrollFleet(root, url, orgId, fleet);
    const raw = await rawInserts(running.stack.databaseUrl, { orgId, partnerId }, agents);
    const gateway = throughGateway(url, agents);
    const measured: Record<"raw" | "gateway", Round[]> = { raw: [], gateway: [] };
    await measure(raw.one, warmMs);
    await measure(gateway.one, warmMs);
    for (let round = 0; round < rounds; round++) {
      measured.raw.push(await measure(raw.one, roundMs));
      measured.gateway.push(await measure(gateway.one, roundMs));
    }
    await raw.close();
    await gateway.close();
    const [base, own] = [median(measured.raw), median(measured.gateway)];
    const share = own.rowsPerSecond / base.rowsPerSecond;
    console.table([
      { what: "raw INSERT … unnest, 500 rows", ...rounded(base), "of raw": "100 %" },
      { what: "through the gateway, 500 rows a request", ...rounded(own), "of raw": `${Math.round(share * 100)} %` },
    ]);
    report.atLeast("through the gateway, of a raw INSERT", 100 * share, "%", 35);
    report.also("through the gateway", own.rowsPerSecond, "rows/s");
    report.also("raw INSERT", base.rowsPerSecond, "rows/s");
    report.also("request of 500 rows, p99", own.p99, "ms");
    if (share < 0.35) process.exitCode = 1;
  } finally {
    await running.stop();
  }
}

type Round = { rowsPerSecond: number; p50: number; p95: number; p99: number };
/** Writes 500 rows. */
type One = (lane: number) => Promise<void>;

async function measure(one: One, forMs: number): Promise<Round> {
  const startedMs = performance.now();
  const endsMs = startedMs + forMs;
  const tookMs: number[] = [];
  await Promise.all(
    Array.from({ length: senders }, async (_, lane) => {
      while (performance.now() < endsMs) {
        const sentMs = performance.now();
        await one(lane);
        tookMs.push(performance.now() - sentMs);
      }
    }),
  );
  tookMs.sort((a, b) => a - b);
  const seconds = (performance.now() - startedMs) / 1_000;
  const at = (share: number) => quantile(tookMs, share);
  return { rowsPerSecond: (tookMs.length * rowsPerRequest) / seconds, p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

const text = "connection to the control plane re-established after 3 attempts, resuming the work queue";

/** The entries of each request. */
function body(): string {
  const logs = Array.from({ length: rowsPerRequest }, (_, i) => ({
    timestamp: new Date(Date.UTC(2026, 0, 1) + i * 1_000).toISOString(),
    level: i % 10 === 0 ? "warn" : "info",
    component: "ws",
    message: `${text} (${i})`,
    fields: { attempt: i, host: "edge-7" },
    agentVersion: "1.4.2",
  }));
  return JSON.stringify({ logs });
}

function throughGateway(url: string, agents: readonly BenchAgent[]): { one: One; close(): Promise<void> } {
  const pool = new Pool(url, { connections: senders });
  const json = body();
  let next = 0;
  return {
    async one() {
      const { id, token } = agents[next++ % agents.length] as BenchAgent;
      const reply = await pool.request({
        method: "POST",
        path: `/api/v1/agents/${id}/logs`,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: json.replace("{", `{"request":${next},`),
      });
      const answer = await reply.body.text();
      if (reply.statusCode !== 201) throw new Error(`POST /agents/:id/logs answered ${reply.statusCode}: ${answer}`);
    },
    close: () => pool.close(),
  };
}

/**
 * The most that a program next to PostgreSQL could achieve: one connection per request in flight, values prepared
 * beforehand.
 */
async function rawInserts(
  databaseUrl: string,
  owner: { orgId: string; partnerId: string },
  agents: readonly BenchAgent[],
): Promise<{ one: One; close(): Promise<void> }> {
  const clients = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const client = new pg.Client({ connectionString: databaseUrl });
      await client.connect();
      return client;
    }),
  );
  const { logs } = JSON.parse(body()) as { logs: Record<string, string>[] };
  const column = (name: string) => logs.map((log) => log[name]);
  const fields = logs.map((log) => JSON.stringify(log.fields));
  const busy = clients.map(() => Promise.resolve());
  let next = 0;
  return {
    one(lane) {
      const at = lane % clients.length;
      const agent = agents[next++ % agents.length] as BenchAgent;
      const done = (busy[at] as Promise<void>).then(async () => {
        await clients[at]?.query({
          name: "raw",
          text: `INSERT INTO device_logs.agent_log (id, device_id, org_id, partner_id, "timestamp", level, component, message, fields, agent_version)
                 SELECT gen_random_uuid(), $1, $2, $3, t, l, c, m, f, v
                 FROM unnest($4::timestamptz[], $5::text[], $6::varchar[], $7::text[], $8::jsonb[], $9::varchar[]) AS u (t, l, c, m, f, v)`,
          values: [
            agent.id,
            owner.orgId,
            owner.partnerId,
            column("timestamp"),
            column("level"),
            column("component"),
            column("message"),
            fields,
            column("agentVersion"),
          ],
        });
      });
      busy[at] = done;
      return done;
    },
    close: async () => void (await Promise.all(clients.map((client) => client.end()))),
  };
}

function median(rounds: readonly Round[]): Round {
  const of = (name: keyof Round) =>
    quantile(
      rounds.map((round) => round[name]).sort((a, b) => a - b),
      0.5,
    );
  return { rowsPerSecond: of("rowsPerSecond"), p50: of("p50"), p95: of("p95"), p99: of("p99") };
}

function rounded({ rowsPerSecond, p50, p95, p99 }: Round) {
  const ms = (n: number) => Math.round(n * 10) / 10;
  return { "rows/s": Math.round(rowsPerSecond), "p50 ms": ms(p50), "p95 ms": ms(p95), "p99 ms": ms(p99) };
}
