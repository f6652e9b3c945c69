import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Writes release.json: what the release is made of, the images' digests, and what it lacks with the reason. */
export function writeInventory({ out, version, revision, registry, scope, digests, notMade, env = process.env }) {
  if (!env.RELEASE_MINISIGN_KEY) notMade.push({ part: "signature", reason: "RELEASE_MINISIGN_KEY names no key" });
  const inventory = { version, revision, registry, scope, images: Object.fromEntries(digests), notMade };
  writeFileSync(join(out, "release.json"), `${JSON.stringify(inventory, null, 2)}\n`);
}
