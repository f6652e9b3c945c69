import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Writes release.json: what the release is made of, the images' digests, and what it lacks with the reason. */
export function writeInventory({ out, version, revision, registry, scope, digests, notMade }) {
  const inventory = { version, revision, registry, scope, images: Object.fromEntries(digests), notMade };
  writeFileSync(join(out, "release.json"), `${JSON.stringify(inventory, null, 2)}\n`);
}
