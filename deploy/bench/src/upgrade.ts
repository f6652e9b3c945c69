import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { testCaFile } from "@muster/testing";
import { newAdministrator, password } from "./administrator.ts";
import { type Counted, countedColumns, failuresIn, settled } from "./failover-settled.ts";
import { enrollFleet } from "./fleet.ts";
import { loadAverage } from "./process-usage.ts";
import type { Report } from "./report.ts";
import { type RollingStack, startRollingStack, type Version } from "./rolling-stack.ts";
import { startUpgradeLoad, type UpgradeLoad } from "./upgrade-load.ts";
import { callEveryRoute, type RouteFailure, routesOf } from "./upgrade-routes.ts";
import { host, untilMade, webhookOwners } from "./webhook-owners.ts";
import { type Receiver, startReceiver } from "./webhooks-cluster.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const shortSoakMs = 2_000;
const shownFailures = 20;

/**
 * `npm run bench -- upgrade [--short] [commit]`: the version of a commit (0.1.0's of CHANGELOG.md unless one is named),
 * built from this repository's history, is upgraded to this checkout under load and taken back again. Both run side by
 * side in between, on the newer schema, and answer each route once in both directions. Status 1 when a request fails,
 * or something acknowledged is missing or doubled.
 */
export async function run(args: string[], report: Report): Promise<void> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { short: { type: "boolean" } } });
  const soakMs = values.short ? shortSoakMs : Number(process.env.UPGRADE_SOAK_MS ?? 8_000);
  const commit = positionals[0] ?? releasedCommit();
  const old: Version = { name: "old", checkout: await built(commit) };
  const current: Version = { name: "new", checkout: root };
  const receiver = await startReceiver(4, "https", true);
  let stack: RollingStack | undefined;
  try {
    const env = {
      PASSWORD_SCRYPT_LOG_N: "12",
      DRAIN_DELAY_MS: "1500",
      EGRESS_TEST_EXCEPTIONS: receiver.ports.map((port) => `${host}:${port}=127.0.0.1`).join(","),
      NODE_EXTRA_CA_CERTS: testCaFile,
    };
    stack = await startRollingStack(env, password);
    await stack.migrate(old);
    await stack.add(old);
    const { load, token } = await startLoad(stack, receiver);
    const routes = await rolled({ stack, load, token, old, current, soakMs });
    await load.stop();
    const { databaseUrl } = stack;
    printRoutes(routes, report);
    const all = [...routes.flatMap(({ failures }) => failures), ...load.failures];
    const failed = all.flatMap(({ requestId }) => requestId ?? []).slice(0, shownFailures);
    for (const line of failed.flatMap((requestId) => stack?.logged(requestId) ?? [])) console.log(line);
    print(commit, load, await settled(load, { databaseUrl, receiver }), report);
  } finally {
    await stack?.stop();
    receiver.stop();
  }
}

async function startLoad({ url }: RollingStack, receiver: Receiver): Promise<{ load: UpgradeLoad; token: string }> {
  const { call, token } = await newAdministrator(url);
  const owners = await webhookOwners(call, receiver.ports);
  const [{ orgId } = { orgId: "" }] = owners;
  const agents = await enrollFleet(call, url, orgId, 3);
  const { key } = await untilMade(call, "/api-keys", {
    ...{ orgId, name: "Upgrade", scopes: ["sites:read"] },
    // More than these rounds use.
    rateLimit: 100_000,
  });
  return { load: startUpgradeLoad(url, { token, key: String(key), owners, agents }), token };
}

type Roll = { stack: RollingStack; load: UpgradeLoad; token: string; old: Version; current: Version; soakMs: number };
type Routes = { calls: number; failures: RouteFailure[] };

/**
 * Forward and back, as `helm upgrade` and `helm rollback` do: new processes start before old ones stop. Returns what
 * became of each route while both versions served.
 */
async function rolled({ stack, load, token, old, current, soakMs }: Roll): Promise<Routes[]> {
  const phase = async (name: string, step?: () => Promise<void>) => {
    load.phase(name);
    await step?.();
    await delay(soakMs);
  };
  await phase("old alone");
  const promised = await routesOf(stack.url, token);
  await phase("schema migrated", () => stack.migrate(current));
  await phase("new beside old", () => stack.add(current));
  const forward = await callEveryRoute(stack.url, token, promised);
  await phase("old leaves", () => stack.remove(old));
  await phase("old comes back", () => stack.add(old));
  const back = await callEveryRoute(stack.url, token, promised);
  await phase("new leaves", () => stack.remove(current));
  return [forward, back];
}

function printRoutes(routes: readonly Routes[], report: Report): void {
  const failures = routes.flatMap((one) => one.failures);
  for (const { sentence } of failures.slice(0, shownFailures)) console.log(`failed: ${sentence}`);
  report.none({ "routes failed": failures.length });
  report.also(
    "calls of routes",
    routes.reduce((sum, { calls }) => sum + calls, 0),
    "",
  );
  if (failures.length > 0) process.exitCode = 1;
}

function print(commit: string, load: UpgradeLoad, counted: Counted, report: Report): void {
  console.log(`${commit} to this checkout and back, load average ${loadAverage()}`);
  console.table(
    [...load.sent].map(([phase, sent]) => ({
      phase,
      sent,
      failed: load.failures.filter((failure) => failure.phase === phase).length,
    })),
  );
  console.table([
    {
      sites: load.sites.length,
      events: load.events.length,
      revoked: load.revoked,
      "admitted after": load.admitted,
      ...countedColumns(counted),
    },
  ]);
  report.none({ "requests failed": load.failures.length, "revoked keys admitted": load.admitted });
  report.none(countedColumns(counted));
  report.also(
    "requests",
    [...load.sent.values()].reduce((a, b) => a + b, 0),
    "",
  );
  report.also("sites", load.sites.length, "");
  report.also("events", load.events.length, "");
  report.also("keys revoked", load.revoked, "");
  const kinds = new Map<string, number>();
  for (const { phase, what, status, code } of load.failures) {
    const kind = `${phase}: ${what}: ${status} ${code}`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  for (const [kind, count] of [...kinds].slice(0, shownFailures)) console.log(`failed ${count} times: ${kind}`);
  if (failuresIn(counted) + load.failures.length + load.admitted > 0) process.exitCode = 1;
}

/** The commit that CHANGELOG.md names. */
function releasedCommit(): string {
  const [commit] = /\b[0-9a-f]{40}\b/.exec(readFileSync(join(root, "CHANGELOG.md"), "utf8")) ?? [];
  if (!commit) throw new Error("CHANGELOG.md names no commit");
  return commit;
}

/** A checkout of the commit out of this repository's history, built; kept in the folder for temporary files. */
async function built(commit: string): Promise<string> {
  const folder = join("/tmp", `muster-version-${commit.slice(0, 12)}`);
  const stamp = join(folder, ".built");
  if (existsSync(stamp)) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const tar = join(folder, "checkout.tar");
  await program("git", ["archive", "-o", tar, commit], root);
  await program("tar", ["-xf", tar], folder);
  rmSync(tar);
  const prepare = 'import { prepare } from "./deploy/local/prepare.mjs"; prepare();';
  await program(process.execPath, ["--input-type=module", "-e", prepare], folder);
  writeFileSync(stamp, "");
  return folder;
}

async function program(file: string, args: string[], cwd: string): Promise<void> {
  const child = spawn(file, args, { cwd, stdio: "inherit" });
  const status = await new Promise((resolve, reject) => child.once("close", resolve).once("error", reject));
  if (status !== 0) throw new Error(`${file} ${args[0]} ended with ${status}`);
}
