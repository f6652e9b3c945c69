import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Options that the files of a release follow, besides its own members of release.json. */
const followed = ["source", "base", "postgres", "agent-root-key", "only"];

/**
 * Writes release.json: what the release is made of and by which options, the images' digests, and what it lacks with
 * the reason.
 */
export function writeInventory({ env = process.env, ...context }) {
  const { out, version, revision, registry, scope, digests, notMade } = context;
  if (!env.RELEASE_MINISIGN_KEY) notMade.push({ part: "signature", reason: "RELEASE_MINISIGN_KEY names no key" });
  const options = Object.fromEntries(
    followed.map((name) => [name, context[name]]).filter(([, value]) => value !== undefined && value.length > 0),
  );
  const inventory = { version, revision, registry, scope, options, images: Object.fromEntries(digests), notMade };
  writeFileSync(join(out, "release.json"), `${JSON.stringify(inventory, null, 2)}\n`);
}
