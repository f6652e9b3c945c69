import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cache } from "../cache.mjs";
import { run } from "./tools.mjs";

const version = "v8.28.0";
const config = fileURLToPath(new URL("gitleaks.toml", import.meta.url));
/** Larger files are programs of others with their data: Node, which our own patterns read. */
const megabytesMax = "24";

/** Where the program is once it was built. */
export const builtGitleaks = join(cache, `gitleaks-${version}`, "gitleaks");

/** The program, built once per machine from the module proxy; null without `go`. */
export function gitleaks() {
  if (existsSync(builtGitleaks)) return builtGitleaks;
  try {
    run("go", ["version"]);
  } catch {
    return null;
  }
  const folder = dirname(builtGitleaks);
  mkdirSync(folder, { recursive: true });
  const env = { ...process.env, GOBIN: folder, GOFLAGS: "-p=1", CGO_ENABLED: "0" };
  run("go", ["install", `github.com/zricethezav/gitleaks/v8@${version}`], { env });
  return builtGitleaks;
}

/** What gitleaks finds below a folder: `path: rule`, without the secrets themselves. */
export function leaksIn(program, folder, report) {
  const args = ["--config", config, "--max-target-megabytes", megabytesMax, "--report-path", report];
  run(program, ["dir", folder, "--no-banner", "--redact", "--exit-code", "0", "--report-format", "json", ...args]);
  const found = JSON.parse(readFileSync(report, "utf8"));
  return found.map(
    ({ File: file, RuleID: rule, StartLine: line }) => `${file.replace(`${folder}/`, "")}:${line}: ${rule}`,
  );
}
