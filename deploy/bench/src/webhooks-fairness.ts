import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Bus } from "@muster/bus";
import { type BenchWebhooks, eventFor, type Hook, percentiles, withWebhooks } from "./webhooks-cluster.ts";

const webhooks = 200;
const burstEvents = 50_000;
const settleMs = 3_000;
const emitterProgram = fileURLToPath(new URL("./webhooks-emitter.js", import.meta.url));

type Phase = { what: string; hang: boolean; burst: boolean };
const phases: readonly Phase[] = [
  { what: "nobody disturbs", hang: false, burst: false },
  { what: "one webhook of 200 hangs with 30 % of the traffic", hang: true, burst: false },
  { what: "one organization emits 50,000 at once", hang: false, burst: true },
];

/**
 * `npm run bench -- webhooks-fairness [per second] [seconds]`: events (400) a second to 195 webhooks for as many seconds (10), alone, beside a webhook
 * that hangs, and beside a burst from another process; from emitting to arrival, by the 195 alone.
 */
export async function run([perSecond = "400", seconds = "10"]: string[] = []): Promise<void> {
  const table: Record<string, string | number>[] = [];
  let baseline = Number.NaN;
  for (const phase of phases) {
    await withWebhooks({ origins: webhooks, webhooks, scheme: "http", remember: true }, async (bench) => {
      const at = await measure(bench, phase, Number(perSecond), Number(seconds) * 1_000);
      if (Number.isNaN(baseline)) baseline = at(0.99);
      table.push({
        what: phase.what,
        p50: `${at(0.5)} ms`,
        p95: `${at(0.95)} ms`,
        p99: `${at(0.99)} ms`,
        "of the first": `${(at(0.99) / baseline).toFixed(2)} ×`,
        bar: phase.hang || phase.burst ? "≤ 2 ×" : "",
      });
    });
  }
  console.table(table);
}

async function measure(bench: BenchWebhooks, { hang, burst }: Phase, rate: number, ms: number) {
  const { hooks, receiver } = bench;
  // The first hangs; the four of the second organization get the burst.
  const [hanging] = hooks;
  const bursting = hooks.slice(4, 8);
  const healthy = hooks.slice(1).filter((hook) => !bursting.includes(hook));
  const first = await bench.start("matcher");
  await first.stop();
  const all = await bench.start("all");
  const bus = await bench.emitter();
  const emit = burst ? await burstEmitter(bench, bursting) : null;
  if (hang && hanging) receiver.hang([hanging.port]);
  // Connections and plans are not what is measured.
  await pace(bus, healthy, rate, settleMs);
  await receiver.counts();
  const bursts = emit ? emit() : null;
  const disturbed = hang && hanging ? pace(bus, [hanging], (rate * 3) / 7, ms) : null;
  await pace(bus, healthy, rate, ms);
  const [emittedMs] = await Promise.all([bursts, disturbed]);
  await sleep(settleMs);
  const ports = new Set(healthy.map(({ port }) => port));
  const { latencies } = await receiver.counts();
  const { aside, queued } = await all.passed();
  if (emittedMs !== null) {
    console.log(
      `the burst was emitted in ${Math.round(emittedMs)} ms; ${aside} events were put aside, ${queued} deliveries queued so far`,
    );
  }
  await all.stop();
  return percentiles(latencies.filter(([port]) => ports.has(port)).map(([, each]) => each));
}

async function pace(bus: Bus, hooks: readonly Hook[], rate: number, ms: number): Promise<void> {
  const startedMs = performance.now();
  const total = Math.round((rate * ms) / 1_000);
  const publishing: Promise<unknown>[] = [];
  for (let sent = 0; sent < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - startedMs) / 1_000) * rate));
    for (; sent < due; sent++) {
      const hook = hooks[sent % hooks.length];
      if (hook) publishing.push(bus.transport.publish(eventFor(hook)));
    }
    await sleep(5);
  }
  await Promise.all(publishing);
}

/** A process of its own that is ready to emit: what it does must not hold up the process that emits for everybody else. */
async function burstEmitter({ nats }: BenchWebhooks, hooks: readonly Hook[]): Promise<() => Promise<number>> {
  const child = fork(emitterProgram, [nats.url, nats.seeds.tenancy, String(burstEvents)]);
  await once(child, "message");
  return async () => {
    child.send(hooks);
    const [{ ms }] = (await once(child, "message")) as [{ ms: number }];
    return ms;
  };
}
