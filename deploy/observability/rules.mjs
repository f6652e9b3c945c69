// The alert rules of charts/muster/files/rules.yaml for one release, as the chart renders them.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const file = fileURLToPath(new URL("../../charts/muster/files/rules.yaml", import.meta.url));

/** YAML of the rules that watch release `release` in `namespace`. */
export const rulesFor = ({ namespace, release }) =>
  readFileSync(file, "utf8").replaceAll("NAMESPACE", namespace).replaceAll("RELEASE", release);
