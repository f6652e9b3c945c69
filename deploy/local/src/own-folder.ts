import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Makes the folder when it is missing. True when this user owns it and can write to it: another user's folder is
 * refused.
 */
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
