// A page that is open loads files of the build that it came from: a new build keeps them for a day.
import { copyFileSync, existsSync, readdirSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";

/** Milliseconds for which a page that is open may still load a file of the build before. */
const keptMs = 24 * 3_600_000;

/** Copies the files that a new build has no more, and keeps their age. */
export function keepEarlierAssets(from, into, now = Date.now()) {
  if (!existsSync(from)) return;
  for (const name of readdirSync(from)) {
    const file = join(from, name);
    const { atime, mtime } = statSync(file);
    if (existsSync(join(into, name)) || now - mtime.getTime() > keptMs) continue;
    copyFileSync(file, join(into, name));
    utimesSync(join(into, name), atime, mtime);
  }
}
