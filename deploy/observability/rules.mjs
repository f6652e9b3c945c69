// The alert rules of charts/muster/files/rules.yaml for one release, as the chart renders them.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const file = fileURLToPath(new URL("../../charts/muster/files/rules.yaml", import.meta.url));
const { parse } = createRequire(fileURLToPath(new URL("../../package.json", import.meta.url)))("yaml");

/** YAML of the rules that watch release `release` in `namespace`. */
export const rulesFor = ({ namespace, release }) =>
  readFileSync(file, "utf8").replaceAll("NAMESPACE", namespace).replaceAll("RELEASE", release);

/** Those rules as JSON, without the rules of workloads that are not among `workloads`. */
export function rulesOfWorkloads(where, workloads) {
  const { groups } = parse(rulesFor(where));
  const runs = ({ labels }) => !labels?.service || workloads.includes(labels.service);
  return JSON.stringify({ groups: groups.map(({ name, rules }) => ({ name, rules: rules.filter(runs) })) });
}
