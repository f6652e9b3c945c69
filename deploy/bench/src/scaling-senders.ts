import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "@muster/db";
import { systemCaller } from "@muster/kit";
import { type Step, startShares } from "./scaling-shares.ts";
import { type BenchWebhooks, withWebhooks } from "./webhooks-cluster.ts";

const origins = 50;
const webhooks = 200;
const payloadBytes = 600;
const rows = 60_000;
const fewRows = 12_000;
const warmMs = 2_500;
const measureMs = 8_000;
const drainMs = 60_000;
/** All webhooks lead to one host, whose slots would be the limit of all senders together. */
const settings = { HOST_CONCURRENCY: "65536" };
const system = { caller: systemCaller("webhook-dispatcher") };

/** Deliveries a second of 1, 2 and 3 senders out of a queue that is never empty. */
export async function senders(): Promise<Step[]> {
  const steps: Step[] = [];
  await withWebhooks({ origins, webhooks, scheme: "http" }, async (bench) => {
    for (const replicas of [1, 2, 3]) {
      await bench.clear();
      await bench.fill(rows, payloadBytes);
      const shares = startShares();
      const running = await Promise.all(
        Array.from({ length: replicas }, () => bench.start("sender", settings, shares.onStarted)),
      );
      await sleep(warmMs);
      bench.receiver.reset();
      const startedMs = performance.now();
      await sleep(measureMs);
      const { requests } = await bench.receiver.counts();
      steps.push({ replicas, perSecond: requests / ((performance.now() - startedMs) / 1_000) });
      if ((await queued(bench)) === 0) throw new Error("the queue ran empty while it was measured");
      for (const sender of running) await sender.kill9();
      shares.remove();
    }
  });
  return steps;
}

/** One sender, three, and one again while a queue is drained: deliveries that arrived, and silent repeats. */
export async function sendersThatCome() {
  let counted = { deliveries: fewRows, missing: fewRows, "silent repeats": 0, seconds: 0 };
  await withWebhooks({ origins, webhooks, scheme: "http", remember: true }, async (bench) => {
    const shares = startShares();
    const start = () => bench.start("sender", settings, shares.onStarted);
    const one = await start();
    await bench.fill(fewRows, payloadBytes);
    const startedMs = performance.now();
    const more = await Promise.all([start(), start()]);
    await sleep(warmMs);
    for (const sender of more) await sender.stop();
    while ((await queued(bench)) > 0 && performance.now() - startedMs < drainMs) await sleep(200);
    const { distinct, silentRepeats } = await bench.receiver.counts();
    const seconds = Math.round((performance.now() - startedMs) / 100) / 10;
    counted = { deliveries: fewRows, missing: fewRows - distinct, "silent repeats": silentRepeats, seconds };
    await one.stop();
    shares.remove();
  });
  return counted;
}

async function queued({ database }: BenchWebhooks): Promise<number> {
  const [row] = await database.db.read<{ n: number }>(system, sql`SELECT count(*)::int AS n FROM webhook_queue`);
  return row?.n ?? 0;
}
