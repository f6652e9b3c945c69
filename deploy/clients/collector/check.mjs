// `npm run check:collector`: builds an OpenTelemetry Collector from the Go module proxy, once for this machine, and has
// it send a file to a cluster while it is killed (gateway/e2e/devices/collector.test.ts). Not run where Go is missing,
// or its modules are not to be had.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runJest } from "../../local/jest/run.mjs";
import { prepare } from "../../local/prepare.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const cache =
  process.env.MUSTER_CLIENTS_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "muster-clients");
/** Milliseconds that fetching and compiling may take. */
const buildMs = 900_000;

/** The program, or a sentence why there is none. */
function built() {
  const go = spawnSync("go", ["version"], { encoding: "utf8" });
  if (go.status !== 0) return { missing: "Go is not installed" };
  const hash = createHash("sha256").update(go.stdout);
  for (const name of ["go.mod", "go.sum", "main.go"]) hash.update(readFileSync(join(here, name)));
  const program = join(cache, `collector-${hash.digest("hex").slice(0, 12)}`);
  if (existsSync(program)) return { program };
  mkdirSync(cache, { recursive: true });
  const env = { ...process.env, GOTOOLCHAIN: "local", GOFLAGS: "-mod=readonly" };
  const download = spawnSync("go", ["mod", "download"], { cwd: here, env, timeout: buildMs, stdio: "inherit" });
  if (download.status !== 0) return { missing: "its modules are not to be had, or for another version of Go" };
  // As a whole: another run may build it concurrently.
  const fresh = `${program}.${process.pid}`;
  const build = spawnSync("go", ["build", "-o", fresh, "."], { cwd: here, env, timeout: buildMs, stdio: "inherit" });
  if (build.status !== 0) throw new Error("the collector does not compile");
  renameSync(fresh, program);
  return { program };
}

const { program, missing } = built();
if (missing) {
  console.log(`collector: not run, ${missing}`);
  process.exit(0);
}
prepare({ client: true });
process.exit(await runJest(["gateway/e2e/devices/collector.test.ts"], { ...process.env, MUSTER_COLLECTOR: program }));
