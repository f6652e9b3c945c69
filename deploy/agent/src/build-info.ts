/**
 * What `npm run agent:build` writes into the program; a program that runs from its sources is a development version.
 */
declare const MUSTER_AGENT_VERSION: string;
declare const MUSTER_AGENT_ROOT_KEYS: string;

/** Semantic version of this program. */
export const version: string =
  typeof MUSTER_AGENT_VERSION === "string"
    ? MUSTER_AGENT_VERSION
    : (process.env.MUSTER_AGENT_DEV_VERSION ?? "0.0.1-dev");

/** Verifier keys of release manifests that were built in, comma-separated; empty: a development key. */
export const builtInKeys: readonly string[] = (typeof MUSTER_AGENT_ROOT_KEYS === "string" ? MUSTER_AGENT_ROOT_KEYS : "")
  .split(",")
  .filter((key) => key !== "");

/** Systems whose host is complete; the others are previews. */
const complete = ["linux"];

export const isPreview = !complete.includes(process.platform);

/** What `--version` prints. */
export function versionLine(): string {
  const key = builtInKeys.length > 0 ? builtInKeys.map((each) => each.split("+")[0]).join(", ") : "development key";
  return `muster-agent ${version} (${key}${isPreview ? "; preview" : ""})`;
}
