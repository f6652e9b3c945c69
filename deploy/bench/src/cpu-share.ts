import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const mount = "/sys/fs/cgroup";
const periodUs = 50_000;

export type CpuShare = {
  /** Puts a process with all its threads in; what it starts from then on is in as well. */
  take(pid: number): void;
  /** Once its processes have ended. */
  remove(): void;
};

/**
 * A cgroup (version 2 or 1) limited to `cores` cores (`0.2`: a fifth of one); null where this process may not create
 * one.
 */
export function cpuShare(name: string, cores: number): CpuShare | null {
  const isV2 = existsSync(join(mount, "cgroup.controllers"));
  const folder = join(isV2 ? mount : join(mount, "cpu"), `muster-${process.pid}-${name}`);
  const quotaUs = Math.round(cores * periodUs);
  try {
    if (isV2) writeFileSync(join(mount, "cgroup.subtree_control"), "+cpu");
    mkdirSync(folder);
    if (isV2) writeFileSync(join(folder, "cpu.max"), `${quotaUs} ${periodUs}`);
    else {
      writeFileSync(join(folder, "cpu.cfs_period_us"), String(periodUs));
      writeFileSync(join(folder, "cpu.cfs_quota_us"), String(quotaUs));
    }
  } catch {
    if (existsSync(folder)) rmdirSync(folder);
    return null;
  }
  return {
    take: (pid) => writeFileSync(join(folder, "cgroup.procs"), String(pid)),
    remove() {
      // Not while a process that was killed this moment is still in it.
      if (readFileSync(join(folder, "cgroup.procs"), "latin1") === "") rmdirSync(folder);
    },
  };
}
