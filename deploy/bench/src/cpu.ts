import { readdirSync, readFileSync } from "node:fs";
import type { RunningStack } from "@muster/local";

/** CPU microseconds so far of the processes on the path, PostgreSQL with all its backends. */
export function cpuMicros({ stack }: RunningStack): Map<string, number> {
  const postgres = stack.postgres?.pid ?? 0;
  const ticks = (pid: number) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return { parent: Number(fields[1]), micros: (Number(fields[11]) + Number(fields[12])) * 10_000 };
  };
  const backends = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const { parent, micros } = ticks(Number(name));
        return parent === postgres || Number(name) === postgres ? [micros] : [];
      } catch {
        return []; // The process ended after it was listed.
      }
    });
  return new Map([
    ["gateway", ticks(stack.gateways[0]?.pid ?? 0).micros],
    ["tenancy", ticks(stack.services.tenancy?.pid ?? 0).micros],
    ["identity", ticks(stack.services.identity?.pid ?? 0).micros],
    ["agent-release", ticks(stack.services["agent-release"]?.pid ?? 0).micros],
    ["PostgreSQL", backends.reduce((sum, micros) => sum + micros, 0)],
  ]);
}
