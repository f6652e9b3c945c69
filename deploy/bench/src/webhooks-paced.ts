import { setTimeout as sleep } from "node:timers/promises";
import type { Bus } from "@muster/bus";
import { percentiles } from "./percentiles.ts";
import type { Report } from "./report.ts";
import { type BenchWebhooks, eventFor, withWebhooks } from "./webhooks-cluster.ts";
import type { Dispatcher, Passed } from "./webhooks-dispatcher.ts";

const origins = 50;
const webhooks = 200;
const payloadBytes = 600;
const tickMs = 10;
const warmUpMs = 3_000;
const settleMs = 2_000;
/** p99 of either load. */
const limitMs = 250;
/** Rung by every process that queues deliveries. */
const wakeUps = "webhooks.wake";

type Row = Record<string, string | number>;
type Load = (rate: number, ms: number) => Promise<number>;

/**
 * `npm run bench -- webhooks-paced [per second] [seconds] [rounds]`: 3,600 a second, 8 s, medians of 5 rounds; see
 * `paced`.
 */
export async function run([perSecond = "3600", seconds = "8", rounds = "5"]: string[], report: Report): Promise<void> {
  const table: Row[] = [];
  await withWebhooks({ origins, webhooks, scheme: "http", remember: true }, async (bench) => {
    const rate = Number(perSecond);
    table.push(...(await paced(bench, { rate, ms: Number(seconds) * 1_000, rounds: Number(rounds) }, report)));
  });
  console.table(table);
}

/**
 * Load at its times, from when each was due to its arrival, medians of the rounds: first as rows put into the queue
 * (what the sender adds), then as events through publisher, stream and matcher, with the time that each stage took on
 * average.
 */
export async function paced(
  bench: BenchWebhooks,
  { rate, ms, rounds }: { rate: number; ms: number; rounds: number },
  report: Report,
): Promise<Row[]> {
  const first = await bench.start("matcher");
  await first.stop();
  const all = await bench.start("all");
  const bus = await bench.emitter();
  // One statement after the other on its connection; the time is that of when it was due.
  let filled: Promise<void> = Promise.resolve();
  const queue: Load = (perSecond, forMs) =>
    everyTick(perSecond, forMs, (_sent, count) => {
      const at = new Date();
      filled = filled.then(async () => {
        await bench.fill(count, payloadBytes, at);
        bus.relay.publish(wakeUps, new Uint8Array());
      });
      return filled;
    });
  const events: Load = (perSecond, forMs) => everyTick(perSecond, forMs, publishTo(bus, bench));
  const rows = [];
  for (const [what, load] of [
    ["queued", queue],
    ["emitted", events],
  ] as const) {
    // Connections, plans and what the runtime compiles are not what is measured.
    await load(rate / 2, warmUpMs);
    const runs: Run[] = [];
    for (let round = 0; round < rounds; round++) runs.push(await measured(bench, all, load, rate, ms));
    rows.push(medianOf(what, rate, runs));
    const median = (of: (run: Run) => number) => medianBy(runs, of);
    report.atMost(
      `${what}, p99`,
      median((run) => run.p99),
      "ms",
      limitMs,
    );
    report.also(
      `${what}, p50`,
      median((run) => run.p50),
      "ms",
    );
    report.also(
      `${what}, CPU`,
      median((run) => run.cpu),
      "µs each",
    );
  }
  report.also("rate", rate, "a second");
  const { rss } = await all.usage();
  await all.stop();
  return rows.map((row) => ({ ...row, "RSS MB": Math.round(rss / 1_048_576) }));
}

type Run = { perSecond: number; p50: number; p95: number; p99: number; stages: Stages; cpu: number };
type Stages = { match: number; claim: number; answer: number };

async function measured(bench: BenchWebhooks, all: Dispatcher, load: Load, rate: number, ms: number): Promise<Run> {
  await sleep(settleMs);
  await bench.receiver.counts();
  const before = await all.usage();
  const watch = watchStages(all, rate);
  const sent = await load(rate, ms);
  const stages = await watch.stop();
  const after = await all.usage();
  await sleep(settleMs);
  const { latencies } = await bench.receiver.counts();
  const at = percentiles(latencies.map(([, each]) => each));
  return {
    perSecond: latencies.length / (ms / 1_000),
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    stages,
    cpu: (after.cpuUs - before.cpuUs) / sent,
  };
}

/** Mean milliseconds in each stage by Little's law: what waits there, sampled, over what comes in a second. */
function watchStages(all: Dispatcher, rate: number): { stop(): Promise<Stages> } {
  let stopped = false;
  const samples: Passed[] = [];
  const startedMs = performance.now();
  const began = all.passed();
  const sampling = (async () => {
    const base = await began;
    const baseMs = startedMs;
    while (!stopped) {
      const now = await all.passed();
      const sent = (rate * (performance.now() - baseMs)) / 1_000;
      const past = (key: keyof Passed) => now[key] - base[key];
      const queued = Math.max(past("queued"), past("claimed"));
      samples.push({
        ...now,
        matched: sent - past("matched"),
        queued: queued - past("claimed"),
        claimed: past("claimed") - past("stored"),
      });
      await sleep(100);
    }
  })();
  const mean = (of: (sample: Passed) => number) =>
    (samples.reduce((sum, each) => sum + Math.max(0, of(each)), 0) / Math.max(1, samples.length) / rate) * 1_000;
  return {
    async stop() {
      stopped = true;
      await sampling;
      return { match: mean((s) => s.matched), claim: mean((s) => s.queued), answer: mean((s) => s.claimed) };
    },
  };
}

function publishTo(bus: Bus, { hooks }: BenchWebhooks) {
  return async (sent: number, count: number) => {
    const at = Array.from({ length: count }, (_, n) => hooks[(sent + n) % hooks.length]);
    await Promise.all(at.map((hook) => hook && bus.transport.publish(eventFor(hook))));
  };
}

/** Hands out what is due every 10 ms without waiting for what was handed out before; returns how many. */
async function everyTick(
  rate: number,
  ms: number,
  give: (sent: number, count: number) => Promise<void>,
): Promise<number> {
  const total = Math.round((rate * ms) / 1_000);
  const giving: Promise<void>[] = [];
  const startedMs = performance.now();
  for (let sent = 0; sent < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - startedMs) / 1_000) * rate));
    if (due > sent) giving.push(give(sent, due - sent));
    sent = Math.max(sent, due);
    await sleep(tickMs);
  }
  await Promise.all(giving);
  return total;
}

const medianBy = (runs: readonly Run[], of: (run: Run) => number) =>
  runs.map(of).toSorted((a, b) => a - b)[Math.floor(runs.length / 2)] ?? 0;

function medianOf(what: string, rate: number, runs: readonly Run[]): Row {
  const median = (of: (run: Run) => number) => medianBy(runs, of);
  const ms = (of: (run: Run) => number) => `${Math.round(median(of))} ms`;
  const emitted = what === "emitted";
  return {
    what: `${what} at ${whole(rate)}/s`,
    "per second": whole(median((run) => run.perSecond)),
    "CPU µs each": median((run) => run.cpu).toFixed(0),
    p50: ms((run) => run.p50),
    p95: ms((run) => run.p95),
    p99: ms((run) => run.p99),
    // What was queued by hand is not counted as queued.
    "→ matched": emitted ? ms((run) => run.stages.match) : "",
    "→ claimed": emitted ? ms((run) => run.stages.claim) : "",
    "→ stored": ms((run) => run.stages.answer),
  };
}

const whole = (value: number) => Math.round(value).toLocaleString("en-US");
