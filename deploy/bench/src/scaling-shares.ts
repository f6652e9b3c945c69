import { type CpuShare, cpuShare } from "./cpu-share.ts";

export const coresEach = 0.2;

export type Step = { replicas: number; perSecond: number };

/** Shares of `coresEach` that are taken one by one, and removed together. */
export function startShares(): { onStarted(pid: number): void; remove(): void } {
  const shares: CpuShare[] = [];
  return {
    onStarted(pid) {
      const share = cpuShare(String(pid), coresEach);
      if (!share) throw new Error("no cgroup for a replica");
      shares.push(share);
      share.take(pid);
    },
    remove() {
      for (const share of shares.splice(0)) share.remove();
    },
  };
}
