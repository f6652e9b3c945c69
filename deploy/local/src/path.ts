import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Every file of that name on a PATH, in order. */
export function onPath(name: string, path: string): string[] {
  const folders = path.split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).filter((file) => existsSync(file));
}
