import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type RunningStack, startStack } from "@muster/local";
import { testCaFile } from "@muster/testing";
import pg from "pg";
import { type Call, callAt, newAdministrator, newOrganization, password, sameAdministrator } from "./administrator.ts";
import { pairBinaries, startPair } from "./failover-postgres.ts";
import type { Report } from "./report.ts";
import { startReceiver } from "./webhooks-cluster.ts";

const command = fileURLToPath(new URL("../../local/dist/command.js", import.meta.url));
const host = "bench.example.test";
const waitMs = 60_000;
/** Largest difference of clocks, as in docs/operations/restore.md. */
const clockMs = 60_000;
/** Results that verification may report for an intact chain. */
const fine = new Set(["OK", "RESTORED", "UNPROTECTED_TAIL"]);

/**
 * `npm run bench -- restore`: docs/operations/restore.md on one machine, word for word. A dump is taken, sites and
 * events are made after it, everything is stopped, the dump is restored with an empty NATS, sessions are ended, the
 * restore is declared. Then verification, the old session, and webhooks are checked. Status 1 when one of them is not
 * as the page says.
 */
export async function run(_args: string[], report: Report): Promise<void> {
  const bin = pairBinaries();
  if (!bin) {
    console.log("not run: restore. No pg_dump: install Debian's postgresql, or give MUSTER_POSTGRES_BIN.");
    if (process.env.CI === "true") process.exitCode = 1;
    return;
  }
  const pair = await startPair(bin);
  const receiver = await startReceiver(1, "https", true);
  const dataDir = mkdtempSync("/tmp/muster-restore-");
  const copies = join(dataDir, "checkpoints");
  mkdirSync(copies);
  const env = {
    PASSWORD_SCRYPT_LOG_N: "12",
    MUSTER_DATABASE_URL: pair.url,
    CHECKPOINT_DIRECTORY: copies,
    CHECKPOINT_INTERVAL_SECONDS: "1",
    EGRESS_TEST_EXCEPTIONS: receiver.ports.map((port) => `${host}:${port}=127.0.0.1`).join(","),
    NODE_EXTRA_CA_CERTS: testCaFile,
  };
  let running: RunningStack | undefined;
  try {
    running = await startStack({ adminPassword: password, dataDir, env });
    const { call, secret, token } = await newAdministrator(urlOf(running));
    const { orgId } = await newOrganization(call);
    const hook = {
      orgId,
      name: "Restore",
      url: `https://${host}:${receiver.ports[0]}/hook`,
      secret: "restore",
      events: ["*"],
    };
    await taken(call, "/webhooks", hook, 201);
    const sites = (count: number) =>
      many(count, () => taken(call, "/orgs/sites", { orgId, name: `Site ${randomUUID()}` }, 201));
    const events = (count: number) => many(count, () => event(call, orgId));
    await sites(3);
    await events(3);
    await sealed(pair.url, orgId, 3);

    const dump = join(dataDir, "muster.dump");
    const databaseUrl = pair.url.replace(/\/postgres$/, "/muster");
    await program(join(bin, "pg_dump"), ["-Fc", "-f", dump, databaseUrl]);
    const restoredTo = new Date(Date.now() - clockMs).toISOString();
    await sites(5);
    await events(2);
    await sealed(pair.url, orgId, 8);
    // So that an external checkpoint covers the rows that the dump lacks.
    const written = readdirSync(copies, { recursive: true }).length;
    await until("a checkpoint of them", async () => readdirSync(copies, { recursive: true }).length > written);

    await running.stop();
    running = undefined;
    await program(join(bin, "psql"), ["-q", "-c", "drop database muster", pair.url]);
    await program(join(bin, "psql"), ["-q", "-c", "create database muster", pair.url]);
    await program(join(bin, "pg_restore"), ["--exit-on-error", "-d", databaseUrl, dump]);
    rmSync(join(dataDir, "nats"), { recursive: true });
    const ended = "update identity.sessions set revoked_at = now(), revoke_reason = 'restore' where revoked_at is null";
    await program(join(bin, "psql"), ["-q", "-c", ended, databaseUrl]);
    running = await startStack({ adminPassword: password, dataDir, env });
    await program(process.execPath, [command, "restored", restoredTo], {
      ...process.env,
      ...env,
      MUSTER_DATA_DIR: dataDir,
    });
    const url = urlOf(running);
    const old = await callAt(url, token, "GET", "/auth/me");
    const again = await signedIn(url, secret);
    await many(2, () => taken(again, "/orgs/sites", { orgId, name: `Site ${randomUUID()}` }, 201));
    const since = await many(5, () => event(again, orgId));
    const port = receiver.ports[0];
    await until("events since the restore", async () => {
      const arrived = await receiver.arrivals();
      return since.every((id) => arrived.has(`${port} ${id}`));
    });
    const { silentRepeats, flagged } = await receiver.counts();
    const verdicts = await verified(again, orgId);
    const found = verdicts.map(({ verdict }) => verdict);
    console.table([
      {
        "old session": String(old.body.code),
        verdicts: found.join(", "),
        "events since, delivered": since.length,
        "flagged as possible repeats": flagged,
        "silent repeats": silentRepeats,
      },
    ]);
    const isRight =
      old.status === 401 &&
      found.includes("RESTORED") &&
      found.every((verdict) => fine.has(verdict)) &&
      silentRepeats === 0;
    report.none({
      "verdicts worse than RESTORED": found.filter((verdict) => !fine.has(verdict)).length,
      "silent repeats": silentRepeats,
      "old sessions admitted": Number(old.status !== 401),
    });
    report.also("events since, delivered", since.length, "");
    report.also("flagged as possible repeats", flagged, "");
    if (!isRight) process.exitCode = 1;
  } finally {
    await running?.stop();
    receiver.stop();
    await pair.remove();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

const urlOf = (running: RunningStack) => running.stack.gateways[0]?.url ?? "";

async function many<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let n = 0; n < count; n++) made.push(await make());
  return made;
}

/** Services learn of a new organization a moment after tenancy, and of nothing before they have found NATS. */
async function taken(call: Call, path: string, body: object, status: number): Promise<Record<string, unknown>> {
  let last: Awaited<ReturnType<Call>> | undefined;
  await until(`POST ${path}`, async () => {
    last = await call("POST", path, body);
    return last.status === status;
  }).catch((error) => {
    throw new Error(`POST ${path} answers ${last?.status}: ${JSON.stringify(last?.body)}`, { cause: error });
  });
  return last?.body ?? {};
}

async function event(call: Call, orgId: string): Promise<string> {
  const id = randomUUID();
  await taken(call, "/events", { type: "alert.triggered", orgId, id, data: { severity: "high" } }, 202);
  return id;
}

/** A code of a second factor counts once: the next one comes within half a minute. */
async function signedIn(url: string, secret: string): Promise<Call> {
  let call: Call | undefined;
  await until("a sign-in", async () => {
    call = await sameAdministrator(url, secret).catch(() => undefined);
    return call !== undefined;
  });
  return call as Call;
}

async function verified(call: Call, orgId: string): Promise<{ verdict: string }[]> {
  const { id } = await taken(call, "/audit-logs/verify", { orgId }, 202);
  let verdicts: { verdict: string }[] = [];
  await until("the verification", async () => {
    const { body } = await call("GET", `/audit-logs/verify/${id}`);
    verdicts = (body.verdicts ?? []) as typeof verdicts;
    return body.status === "done";
  });
  return verdicts;
}

/** Waits until that many sites of the organization have their audit rows. */
async function sealed(url: string, orgId: string, count: number): Promise<void> {
  const client = new pg.Client({ connectionString: url.replace(/\/postgres$/, "/muster") });
  await client.connect();
  try {
    await until("audit rows", async () => {
      const { rows } = await client.query<{ n: number }>(
        "SELECT count(*)::int AS n FROM audit.audit_log WHERE chain_id = $1 AND action = 'site.create'",
        [orgId],
      );
      return (rows[0]?.n ?? 0) >= count;
    });
  } finally {
    await client.end();
  }
}

/** Not synchronously: the address that leads to the database is served by this process. */
async function program(file: string, args: string[], env: NodeJS.ProcessEnv = process.env): Promise<void> {
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], timeout: waitMs, env });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  }
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (status !== 0) throw new Error(`${basename(file)} ended with ${status}: ${said}`);
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const endsMs = performance.now() + waitMs;
  while (!(await holds())) {
    if (performance.now() > endsMs) throw new Error(`waited ${waitMs / 1_000} s in vain for ${what}`);
    await delay(200);
  }
}
