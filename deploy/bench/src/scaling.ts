import { cpuShare } from "./cpu-share.ts";
import { loadAverage } from "./process-usage.ts";
import type { Report } from "./report.ts";
import { gateways } from "./scaling-gateways.ts";
import { sealers } from "./scaling-sealers.ts";
import { senders, sendersThatCome } from "./scaling-senders.ts";
import { coresEach } from "./scaling-shares.ts";

const least = 0.85;

/**
 * `npm run bench -- scaling [part]`: webhooks delivered, requests answered and audit rows sealed a second by 1, 2 and 3
 * replicas of 0.2 core each (a cgroup), which leaves most of two cores to PostgreSQL, NATS, clients and receivers. Then
 * senders come and go under load. Status 1 when three replicas do less than 0.85 of three times one, or when a delivery
 * is lost.
 */
export async function run([only = ""]: string[], report: Report): Promise<void> {
  const trial = cpuShare("trial", coresEach);
  trial?.remove();
  if (!trial) {
    console.log("not run: scaling. This process may not make a cgroup with a share of the processor.");
    if (process.env.CI === "true") process.exitCode = 1;
    return;
  }
  const parts = { senders, gateways, sealers };
  const table: Record<string, string | number>[] = [];
  for (const [name, measure] of Object.entries(parts).filter(([each]) => each.includes(only))) {
    const steps = await measure();
    const one = steps[0]?.perSecond ?? Number.NaN;
    for (const { replicas, perSecond } of steps) {
      const share = perSecond / (one * replicas);
      if (replicas === 3) report.atLeast(`${name}, three of three times one`, share, "×", least);
      report.also(`${name}, ${replicas}`, perSecond, "a second");
      if (replicas === 3 && !(share >= least)) process.exitCode = 1;
      table.push({
        part: name,
        replicas,
        "per second": Math.round(perSecond),
        "per core": Math.round(perSecond / (replicas * coresEach)),
        "of linear": share.toFixed(2),
        load: loadAverage(),
      });
    }
  }
  console.table(table);
  if (!"senders".includes(only)) return;
  const moved = await sendersThatCome();
  console.table([moved]);
  report.none({
    "deliveries lost while senders come and go": moved.missing,
    "silent repeats while senders come and go": moved["silent repeats"],
  });
  if (moved.missing + moved["silent repeats"] > 0) process.exitCode = 1;
}
