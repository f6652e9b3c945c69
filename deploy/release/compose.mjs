import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Refusal } from "./refusal.mjs";
import { yamlOf } from "./yaml.mjs";

/** What a try names in place of a digest. */
const triedPostgres = "docker.io/library/postgres:18";

/** compose.yaml of a release: images by digest, by version where none was made. Throws where a service has none. */
export function composeOf(text, { registry, version, digests, postgres }, { parseDocument }) {
  const compose = parseDocument(text);
  for (const { key, value } of compose.get("services").items) {
    const image = value.get("image");
    const digest = digests.get(image);
    if (image === "postgres") value.set("image", postgres ?? triedPostgres);
    else if (digest !== undefined) value.set("image", `${registry}/${image}@${digest}`);
    else if (digests.size === 0) value.set("image", `${registry}/${image}:${version}`);
    else throw new Refusal("failed", `the compose file's service ${key.value} has no image.`);
  }
  return compose.toString({ lineWidth: 0 });
}

/** Writes `compose.yaml`: a cluster on one machine from images alone. */
export function makeCompose(context) {
  const { tree, out, postgres, notMade } = context;
  const text = readFileSync(join(tree, "deploy", "compose", "compose.yaml"), "utf8");
  writeFileSync(join(out, "compose.yaml"), composeOf(text, context, yamlOf(tree)));
  if (!postgres) notMade.push({ part: "digest of PostgreSQL in compose.yaml", reason: "no --postgres" });
}
