import { setTimeout as delay } from "node:timers/promises";
import { startStack } from "@muster/local";
import { password } from "./administrator.ts";
import { loadAverage, usageOf } from "./process-usage.ts";
import type { Report } from "./report.ts";

/** The process that derives passwords ends a minute after the last sign-in. */
const restMs = 90_000;
const limitMb = 400;

/**
 * `npm run bench -- memory [seconds]`: PSS of every process of a cluster that has been at rest for a minute
 * and a half (unless said otherwise), PostgreSQL apart; and the anonymous part of it, which no other process on the
 * machine changes. Status 1 above 400 MB.
 */
export async function run([seconds = ""]: string[], report: Report): Promise<void> {
  const running = await startStack({ adminPassword: password, env: { PASSWORD_SCRYPT_LOG_N: "12" } });
  try {
    await delay(Number(seconds) * 1_000 || restMs);
    const { stack } = running;
    const pidsOf = (parts: Record<string, { pid: number | null }>) =>
      Object.entries(parts).map(([name, { pid }]) => [name, [pid ?? 0]] as const);
    const usage = usageOf({
      ...Object.fromEntries([...pidsOf(stack.services), ...pidsOf(stack.workers)]),
      gateway: stack.gateways.map(({ pid }) => pid ?? 0),
      nats: [stack.nats?.pid ?? 0],
    });
    // Its children are the others.
    const all = usageOf({ all: [running.supervisorPid] }).get("all") ?? { pssMb: 0, anonMb: 0 };
    const row = (of: "pssMb" | "anonMb") => {
      const parts = [...usage].map(([name, each]) => [name, each[of]] as const);
      const launcher = all[of] - parts.reduce((sum, [, mb]) => sum + mb, 0);
      const figures = [...parts, ["launcher", launcher] as const, ["sum", all[of]] as const];
      return Object.fromEntries(figures.map(([name, mb]) => [name, Math.round(mb)]));
    };
    console.log(`PSS at rest, MB; load average ${loadAverage()}`);
    console.table({ PSS: row("pssMb"), anonymous: row("anonMb") });
    report.atMost("PSS without PostgreSQL", all.pssMb, "MB", limitMb);
    report.also("anonymous", all.anonMb, "MB");
    for (const [name, mb] of Object.entries(row("pssMb"))) if (name !== "sum") report.also(name, mb, "MB");
    if (all.pssMb > limitMb) process.exitCode = 1;
  } finally {
    await running.stop();
  }
}
