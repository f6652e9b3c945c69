import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";

const mount = (...args: string[]) => spawnSync("mount", args).status === 0;

/** Mounts a file system in memory of so many KiB on a folder. Returns whether this machine permits it. */
export function mountSmallDisk(folder: string, kibibytes: number): boolean {
  mkdirSync(folder, { recursive: true });
  return mount("-t", "tmpfs", "-o", `size=${kibibytes}k,mode=0700`, "tmpfs", folder);
}

/** Mounts a folder on itself with an option, such as `ro` or `noexec`. Returns whether this machine permits it. */
export const remount = (folder: string, option: string): boolean =>
  mount("--bind", folder, folder) && mount("-o", `remount,bind,${option}`, folder);

/** All that is mounted there. */
export function unmount(folder: string): void {
  while (spawnSync("umount", ["-l", folder]).status === 0);
}

/** Whether file systems can be mounted here: that needs root. */
export function canMount(folder: string): boolean {
  const isMounted = mountSmallDisk(folder, 64);
  if (isMounted) unmount(folder);
  return isMounted;
}
