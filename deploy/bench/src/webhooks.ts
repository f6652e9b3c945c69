import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "@muster/db";
import { systemCaller } from "@muster/kit";
import { Pool } from "undici";
import type { Report } from "./report.ts";
import { type BenchWebhooks, eventFor, withWebhooks } from "./webhooks-cluster.ts";
import type { Dispatcher } from "./webhooks-dispatcher.ts";
import { paced } from "./webhooks-paced.ts";

const origins = 50;
const webhooks = 200;
const payloadBytes = 600;
const drainMs = 10_000;
const baselineConcurrency = 256;

const system = { caller: systemCaller("webhook-dispatcher") };

type Row = Record<string, string | number>;

/**
 * `npm run bench -- webhooks [rows] [seconds]`: drains rows (300,000) that lie in the queue over 200 webhooks and 50
 * origins, over HTTP, TLS and with two senders; then events through the matcher; then half the drained rate at its
 * times (`webhooks-paced`). Beside it a bare undici POST loop to the same receiver.
 */
export async function run([rows = "300000", seconds = "10"]: string[], report: Report): Promise<void> {
  const table: Row[] = [];
  const ms = Number(seconds) * 1_000 || drainMs;
  let http = 0;
  await withWebhooks({ origins, webhooks, scheme: "http" }, async (bench) => {
    const bare = await bareLoop(bench, ms);
    table.push({ what: "bare undici POST loop", "per second": whole(bare) });
    await bench.fill(Number(rows), payloadBytes);
    const one = await drain(bench, 1, ms);
    http = one.perSecond;
    table.push({ what: "drain over HTTP, one sender", ...one.row, "of bare": percent(http / bare) });
    report.atLeast("drained over HTTP", http, "a second", 4_500);
    report.also("drained over HTTP, CPU", one.cpuUs, "µs each");
    report.also("drained over HTTP, of a bare POST loop", (100 * http) / bare, "%");
    const two = await drain(bench, 2, ms);
    table.push({ what: "drain over HTTP, two senders", ...two.row, "of bare": percent(two.perSecond / bare) });
    report.also("drained over HTTP, two senders", two.perSecond, "a second");
    await bench.clear();
    const matched = await match(bench, Math.min(Number(rows), 50_000));
    table.push({ what: "matcher", ...matched.row });
    report.atLeast("matched", matched.perSecond, "events/s", 5_000);
  });
  await withWebhooks({ origins, webhooks, scheme: "https" }, async (bench) => {
    await bench.fill(Math.min(Number(rows), 100_000), payloadBytes);
    const tls = await drain(bench, 1, ms);
    table.push({ what: "drain over TLS, one sender", ...tls.row });
    report.atLeast("drained over TLS", tls.perSecond, "a second", 3_000);
  });
  await withWebhooks({ origins, webhooks, scheme: "http", remember: true }, async (bench) => {
    const rate = Math.max(100, Math.round(http / 2));
    table.push(...(await paced(bench, { rate, ms, rounds: 5 }, report)));
  });
  console.table(table);
}

async function bareLoop({ receiver, hooks }: BenchWebhooks, ms: number): Promise<number> {
  const pools = new Map(
    receiver.ports.map((port) => [port, new Pool(`http://127.0.0.1:${port}`, { connections: 32, pipelining: 1 })]),
  );
  const body = Buffer.from(JSON.stringify({ text: "x".repeat(payloadBytes - 14) }));
  const end = performance.now() + ms;
  let sent = 0;
  const worker = async (from: number) => {
    for (let n = from; performance.now() < end; n++) {
      const pool = pools.get(hooks[n % hooks.length]?.port ?? 0) as Pool;
      const reply = await pool.request({
        method: "POST",
        path: "/hook",
        headers: { "content-type": "application/json" },
        body,
      });
      await reply.body.dump();
      sent += 1;
    }
  };
  await Promise.all(Array.from({ length: baselineConcurrency }, (_, n) => worker(n * 7)));
  for (const pool of pools.values()) await pool.close();
  return sent / (ms / 1_000);
}

type Drained = { perSecond: number; cpuUs: number; row: Row };

async function drain(bench: BenchWebhooks, senders: number, ms: number): Promise<Drained> {
  const running = await Promise.all(Array.from({ length: senders }, () => bench.start("sender")));
  // Connections, plans and the first batches are not what is measured.
  await sleep(2_000);
  bench.receiver.reset();
  const before = await usageOf(running);
  const startedMs = performance.now();
  await sleep(ms);
  const { requests, connections } = await bench.receiver.counts();
  const took = (performance.now() - startedMs) / 1_000;
  const after = await usageOf(running);
  for (const dispatcher of running) await dispatcher.stop();
  const perSecond = requests / took;
  const cpuUs = (after.cpuUs - before.cpuUs) / requests;
  return {
    perSecond,
    cpuUs,
    row: {
      "per second": whole(perSecond),
      "CPU µs each": cpuUs.toFixed(0),
      "RSS MB": Math.round(after.rss / senders / 1_048_576),
      reuse: percent(1 - connections / Math.max(1, requests)),
    },
  };
}

async function match(bench: BenchWebhooks, events: number): Promise<Omit<Drained, "cpuUs">> {
  const bus = await bench.emitter();
  // The stream is its owner's to make.
  const first = await bench.start("matcher");
  await first.stop();
  for (let at = 0; at < events; at += 500) {
    await Promise.all(
      Array.from({ length: 500 }, (_, n) => {
        const hook = bench.hooks[(at + n) % bench.hooks.length];
        return hook ? bus.transport.publish(eventFor(hook)) : null;
      }),
    );
  }
  const matcher = await bench.start("matcher");
  const before = await matcher.usage();
  const startedMs = performance.now();
  const stored = async () => (await queued(bench))[0]?.n ?? 0;
  let now = await stored();
  const base = now;
  const baseMs = performance.now();
  while (now < events && performance.now() - startedMs < 120_000) {
    await sleep(50);
    now = await stored();
  }
  const perSecond = (now - base) / ((performance.now() - baseMs) / 1_000);
  const after = await matcher.usage();
  await matcher.stop();
  return {
    perSecond,
    row: {
      "per second": whole(perSecond),
      "CPU µs each": ((after.cpuUs - before.cpuUs) / Math.max(1, now - base)).toFixed(0),
      "RSS MB": Math.round(after.rss / 1_048_576),
    },
  };
}

async function queued({ database }: BenchWebhooks): Promise<{ n: number }[]> {
  return database.db.read(system, sql`SELECT count(*) AS n FROM webhook_queue`);
}

async function usageOf(dispatchers: readonly Dispatcher[]): Promise<{ cpuUs: number; rss: number }> {
  const usages = await Promise.all(dispatchers.map((each) => each.usage()));
  return {
    cpuUs: usages.reduce((sum, { cpuUs }) => sum + cpuUs, 0),
    rss: usages.reduce((sum, { rss }) => sum + rss, 0),
  };
}

const whole = (value: number) => Math.round(value).toLocaleString("en-US");
const percent = (value: number) => `${(value * 100).toFixed(1)} %`;
