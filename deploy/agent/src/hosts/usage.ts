import { statfsSync } from "node:fs";
import { cpus, freemem, loadavg, networkInterfaces, totalmem, uptime } from "node:os";

/** Metrics of a heartbeat; the share of the processor is that since the call before. */
export function usageMeter(disk: string): () => Record<string, number> {
  let before = times();
  return () => {
    const now = times();
    const [busy, all] = [now.busy - before.busy, now.all - before.all];
    before = now;
    return {
      "cpu.percent": all > 0 ? rounded((100 * busy) / all) : 0,
      "cpu.count": cpus().length,
      "load.1m": rounded(loadavg()[0] ?? 0),
      "memory.percent": rounded(100 * (1 - freemem() / totalmem())),
      "memory.bytes": totalmem(),
      "uptime.seconds": Math.round(uptime()),
      ...diskUsage(disk),
    };
  };
}

/** Addresses of this machine, without those that every machine has. */
export function addresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .filter(({ internal, address }) => !internal && !/^fe80:/i.test(address))
    .map(({ address }) => address.replace(/%.*$/, ""))
    .slice(0, 32);
}

function times(): { busy: number; all: number } {
  const sum = { busy: 0, all: 0 };
  for (const { times: each } of cpus()) {
    const all = each.user + each.nice + each.sys + each.idle + each.irq;
    sum.all += all;
    sum.busy += all - each.idle;
  }
  return sum;
}

function diskUsage(path: string): Record<string, number> {
  try {
    const { bavail, blocks, bsize } = statfsSync(path);
    return { "disk.percent": rounded(100 * (1 - bavail / Math.max(1, blocks))), "disk.bytes": blocks * bsize };
  } catch {
    return {};
  }
}

const rounded = (value: number) => Math.round(value * 10) / 10;
