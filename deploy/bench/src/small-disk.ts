import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const chunk = Buffer.alloc(1 << 20);

export type SmallDisk = {
  /** Leaves no byte free. */
  fill(): void;
  free(): void;
  unmount(): void;
};

/**
 * A file system in memory (tmpfs) of `mb` megabytes in a folder, which is created. Throws where mounting is refused.
 */
export function mountSmallDisk(folder: string, mb: number): SmallDisk {
  mkdirSync(folder, { recursive: true });
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${mb}m,mode=0711`, "tmpfs", folder], {
    encoding: "utf8",
  });
  if (mounted.status !== 0) throw new Error(`mount: ${mounted.error?.message ?? mounted.stderr}`);
  const ballast = join(folder, "ballast");
  return {
    fill() {
      const file = openSync(ballast, "w");
      try {
        // Ends by ENOSPC; the last pieces are small.
        for (const bytes of [chunk.length, 4_096]) for (let full = false; !full; ) full = !wrote(file, bytes);
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(ballast, { force: true }),
    unmount: () => void spawnSync("umount", ["-l", folder]),
  };
}

function wrote(file: number, bytes: number): boolean {
  try {
    return writeSync(file, chunk, 0, bytes) === bytes;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOSPC") return false;
    throw error;
  }
}

/** Whether this process may mount one. */
export function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "muster-mount-"));
  try {
    mountSmallDisk(folder, 1).unmount();
    return true;
  } catch {
    return false;
  } finally {
    if (existsSync(folder)) rmdirSync(folder);
  }
}
