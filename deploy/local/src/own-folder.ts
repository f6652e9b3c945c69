import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Makes the folder when it is missing. True when it is ours and can be written: what somebody else made will not do. */
export function ownFolder(dir: string): boolean {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o755 });
    if (process.getuid && statSync(dir).uid !== process.getuid()) return false;
    const probe = join(dir, `.writable.${process.pid}`);
    writeFileSync(probe, "");
    rmSync(probe);
    return true;
  } catch {
    return false;
  }
}
