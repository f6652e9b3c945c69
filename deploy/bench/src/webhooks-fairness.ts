import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type TestDatabase, testDatabase } from "@muster/testing";
import { percentiles } from "./percentiles.ts";
import type { Report } from "./report.ts";
import { type BenchWebhooks, withWebhooks } from "./webhooks-cluster.ts";
import type { EmitterAsk } from "./webhooks-emitter.ts";
import type { ReceiverCounts } from "./webhooks-receiver.ts";

const webhooks = 200;
const burstEvents = 50_000;
const settleMs = 3_000;
const burstDoneMs = 180_000;
const lookMs = 500;
const emitterProgram = fileURLToPath(new URL("./webhooks-emitter.js", import.meta.url));

/** `mostTimes`: of the p99 of the first phase. */
type Phase = { what: string; hang?: boolean; burst?: "outbox" | "stream"; mostTimes?: number };
const phases: readonly Phase[] = [
  { what: "undisturbed" },
  { what: "one webhook hangs", hang: true, mostTimes: 2 },
  { what: "burst", burst: "outbox", mostTimes: 2 },
  { what: "burst past every outbox", burst: "stream" },
];

/**
 * `npm run bench -- webhooks-fairness [per second] [seconds]`: events (400) a second to 195 webhooks for as many
 * seconds (10): alone, together with a webhook that hangs, with a burst that another replica of the emitting service
 * puts into the same outbox, and with a burst directly into the stream. Measures the time from when each event of the
 * 195 was due to its arrival.
 */
export async function run([perSecond = "400", seconds = "10"]: string[], report: Report): Promise<void> {
  const table: Record<string, string | number>[] = [];
  let baseline = Number.NaN;
  for (const phase of phases) {
    await withWebhooks({ origins: webhooks, webhooks, scheme: "http", remember: true }, async (bench) => {
      const emitting = await testDatabase({ service: "tenancy", dirs: [] });
      try {
        const at = await measure(bench, emitting, phase, Number(perSecond), Number(seconds) * 1_000);
        if (Number.isNaN(baseline)) baseline = at(0.99);
        table.push({
          what: phase.what,
          p50: `${at(0.5)} ms`,
          p95: `${at(0.95)} ms`,
          p99: `${at(0.99)} ms`,
          "of the first": `${(at(0.99) / baseline).toFixed(2)} ×`,
        });
        const times = at(0.99) / baseline;
        if (phase.mostTimes) report.atMost(`${phase.what}, p99 of undisturbed`, times, "×", phase.mostTimes);
        report.also(`${phase.what}, p99`, at(0.99), "ms");
      } finally {
        await emitting.drop();
      }
    });
  }
  console.table(table);
}

async function measure(
  bench: BenchWebhooks,
  emitting: TestDatabase,
  { hang, burst }: Phase,
  perSecond: number,
  ms: number,
) {
  const { hooks, receiver } = bench;
  // The first webhook hangs; the four of the second organization get the burst.
  const [hanging] = hooks;
  const bursting = hooks.slice(4, 8);
  const healthy = hooks.slice(1).filter((hook) => !bursting.includes(hook));
  const first = await bench.start("matcher");
  await first.stop();
  const all = await bench.start("all");
  const service = await startEmitter(bench, emitting);
  const flood = burst ? await startEmitter(bench, emitting) : null;
  if (hang && hanging) receiver.hang([hanging.port]);
  // Connections and plans are not what is measured.
  await service.ask({ type: "pace", hooks: healthy, perSecond, ms: settleMs });
  await receiver.counts();
  const startedMs = performance.now();
  const [emittedMs] = await Promise.all([
    flood && burst ? flood.ask({ type: "burst", hooks: bursting, events: burstEvents, past: burst }) : null,
    hang && hanging ? service.ask({ type: "pace", hooks: [hanging], perSecond: (perSecond * 3) / 7, ms }) : null,
    service.ask({ type: "pace", hooks: healthy, perSecond, ms }),
  ]);
  await sleep(settleMs);
  const ports = new Set(healthy.map(({ port }) => port));
  const counts = await receiver.counts();
  if (emittedMs !== null) {
    const burstOf = (each: ReceiverCounts) => each.latencies.filter(([port]) => !ports.has(port)).length;
    const early = burstOf(counts);
    for (let arrived = early; arrived < burstEvents; arrived += burstOf(await receiver.counts())) {
      if (performance.now() - startedMs > burstDoneMs) throw new Error(`only ${arrived} of the burst arrived`);
      await sleep(lookMs);
    }
    console.log(
      `the burst was emitted in ${Math.round(emittedMs)} ms; ${early} of it had arrived ${settleMs / 1_000} s after the others' last event, ` +
        `all after ${((performance.now() - startedMs) / 1_000).toFixed(1)} s; ${(await all.passed()).aside} went to the backlog`,
    );
  }
  await all.stop();
  await Promise.all([service.stop(), flood?.stop()]);
  return percentiles(counts.latencies.filter(([port]) => ports.has(port)).map(([, each]) => each));
}

type Emitter = { ask(ask: EmitterAsk): Promise<number>; stop(): Promise<unknown> };

async function startEmitter({ nats }: BenchWebhooks, emitting: TestDatabase): Promise<Emitter> {
  const child: ChildProcess = fork(emitterProgram, [emitting.appUrl, nats.url, nats.seeds["webhook-dispatcher"]]);
  await once(child, "message");
  let requests = 0;
  return {
    ask(ask) {
      const id = ++requests;
      child.send({ ...ask, id });
      return new Promise((resolve) => {
        const onAnswer = (answer: { id: number; ms: number }) => {
          if (answer.id !== id) return;
          child.off("message", onAnswer);
          resolve(answer.ms);
        };
        child.on("message", onAnswer);
      });
    },
    stop() {
      const exited = once(child, "exit");
      child.disconnect();
      return exited;
    },
  };
}
