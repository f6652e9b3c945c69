import { randomUUID } from "node:crypto";
import { appendFileSync, chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type RunningStack, startStack } from "@muster/local";
import pg from "pg";
import { administrator, callAt, newOrganization, newUser, password } from "./administrator.ts";
import { percentiles } from "./percentiles.ts";
import { loadAverage, usageOf } from "./process-usage.ts";
import type { Report } from "./report.ts";

const perSecond = 5;
const types = ["device.enrolled", "device.online", "user.login"] as const;

/** `subject`: id of the device, or of the session. */
type Arrival = { id: string; type: string; subject: string; atMs: number; eventMs: number };

/**
 * `npm run bench -- webhooks-services [seconds] [warm]`: events that services emit by themselves. Five times a second,
 * for 20 seconds after 5 that are not measured, a device enrolls and sends its first heartbeat, then a person signs in;
 * a webhook gets `device.enrolled`, `device.online` and `user.login`. Prints the time to the request at the receiver,
 * from COMMIT and from the event's own timestamp, which is taken before. COMMIT is PostgreSQL's commit timestamp, which
 * the server takes before the WAL is on the disk, on the clock of the same machine. CPU is that of webhook-dispatcher
 * and of PostgreSQL, whose part holds enrollments and sign-ins, too. Ends with status 1 when an event did not come
 * within 10 seconds.
 */
export async function run([seconds = "20", warm = "5"]: string[], report: Report): Promise<void> {
  const receiver = await startReceiver();
  const name = "receiver.test";
  const dataDir = mkdtempSync(join(tmpdir(), "muster-stack-"));
  chmodSync(dataDir, 0o711);
  const options = {
    adminPassword: password,
    dataDir,
    env: { PASSWORD_SCRYPT_LOG_N: "10", EGRESS_TEST_EXCEPTIONS: `http://${name}:${receiver.port}=127.0.0.1` },
  };
  const running = await startWithCommitTimes(options);
  const owner = new pg.Client({ connectionString: running.stack.databaseUrl });
  try {
    await owner.connect();
    await noteTransactions(owner);
    const url = running.stack.gateways[0]?.url ?? "";
    const root = await administrator(url);
    const { orgId } = await newOrganization(root);
    const unmeasured = Number(warm) * perSecond;
    const total = unmeasured + Number(seconds) * perSecond;
    const hook = {
      orgId,
      name: "Bench",
      url: `http://${name}:${receiver.port}/`,
      events: [...types],
      secret: "top secret",
    };
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    await must(201, root("POST", "/webhooks", hook));
    const made = await must(
      201,
      root("POST", "/enrollment-keys", { orgId, name: "Bench", maxUsage: total, expiresAt }),
    );
    const loadBefore = loadAverage();
    const { email } = await newUser(url, root, orgId);
    const measured = { devices: new Set<string>(), sessions: new Set<string>() };
    const act = async (number: number) => {
      const machine = {
        hostname: "bench",
        os: "linux",
        arch: "amd64",
        agentVersion: "1.0.0",
        hardwareId: randomUUID(),
      };
      const wanted = { enrollmentKey: made.key, ...machine };
      const { agentId, token } = await must(201, callAt(url, null, "POST", "/agents/enroll", wanted));
      const beat = { agentVersion: "1.0.0" };
      await must(200, callAt(url, String(token), "POST", `/agents/${agentId}/heartbeat`, beat));
      const { accessToken } = await must(200, callAt(url, null, "POST", "/auth/login", { email, password }));
      if (number < unmeasured) return;
      measured.devices.add(String(agentId));
      measured.sessions.add(sessionOf(String(accessToken)));
    };
    const subjectsOf = (type: string) => (type === "user.login" ? measured.sessions : measured.devices);
    const under: Promise<void>[] = [];
    const { services, postgres } = running.refresh();
    const groups = { dispatcher: [services["webhook-dispatcher"]?.pid ?? 0], postgres: [postgres?.pid ?? 0] };
    let before = usageOf(groups);
    for (let number = 0; number < total; number++) {
      if (number === unmeasured) before = usageOf(groups);
      under.push(act(number));
      await sleep(1_000 / perSecond);
    }
    await Promise.all(under);
    const arrivalsOf = (wanted: string) =>
      receiver.arrivals.filter(({ type, subject }) => type === wanted && subjectsOf(wanted).has(subject));
    const missingOf = (type: string) =>
      subjectsOf(type).size - new Set(arrivalsOf(type).map(({ subject }) => subject)).size;
    const isThere = () => types.every((type) => missingOf(type) === 0);
    for (let tries = 0; tries < 100 && !isThere(); tries++) await sleep(100);
    const after = usageOf(groups);
    const cpu = Object.keys(groups).map((name) => (after.get(name)?.cpuMs ?? 0) - (before.get(name)?.cpuMs ?? 0));
    const committed = await commitTimes(owner);
    const table = types.map((type) => {
      const own = arrivalsOf(type);
      const ofEvent = percentiles(own.map(({ atMs, eventMs }) => atMs - eventMs));
      const ofCommit = percentiles(own.map(({ id, atMs }) => atMs - (committed.get(id) ?? Number.NaN)));
      const loads = `${loadBefore.toFixed(1)} → ${loadAverage().toFixed(1)}`;
      report.atMost(`${type}, COMMIT to arrival, p50`, ofCommit(0.5), "ms", 10);
      report.also(`${type}, p99`, ofCommit(0.99), "ms");
      report.also(`${type}, events`, subjectsOf(type).size, "");
      const both = (share: number) => [ofCommit(share), ofEvent(share)].map((ms) => ms.toFixed(1)).join(" · ");
      return {
        type,
        load: loads,
        events: subjectsOf(type).size,
        "p50 ms of COMMIT · event": both(0.5),
        "p99 ms of COMMIT · event": both(0.99),
        "CPU ms/event, dispatcher · PostgreSQL": cpu
          .map((ms) => (ms / measured.devices.size / types.length).toFixed(1))
          .join(" · "),
        missing: missingOf(type),
      };
    });
    console.table(table);
    report.none({ "missing events": table.reduce((sum, { missing }) => sum + missing, 0) });
    for (const [at, group] of Object.keys(groups).entries()) {
      report.also(`${group}, CPU`, (cpu[at] ?? 0) / measured.devices.size / types.length, "ms an event");
    }
    if (table.some(({ missing }) => missing > 0)) process.exitCode = 1;
  } finally {
    await owner.end();
    await running.stop();
    rmSync(dataDir, { recursive: true, force: true });
    receiver.stop();
  }
}

/**
 * A cluster whose PostgreSQL keeps the times of commits, which is read when it starts: made, stopped, started again.
 */
async function startWithCommitTimes(options: { dataDir: string }): Promise<RunningStack> {
  const first = await startStack(options);
  await first.stop();
  const note = join(options.dataDir, "postgres.place");
  const folder = existsSync(note) ? readFileSync(note, "utf8").trim() : join(options.dataDir, "postgres");
  appendFileSync(join(folder, "data", "postgresql.conf"), "track_commit_timestamp = on\n");
  return await startStack(options);
}

/** Rows of the outboxes keep the transaction that inserted them: `xmin` is that of their mark. */
async function noteTransactions(owner: pg.Client): Promise<void> {
  for (const schema of ["tenancy", "identity"]) {
    await owner.query(`alter table ${schema}.outbox add column bench_transaction xid8 default pg_current_xact_id()`);
  }
}

/** When the transaction of each event was committed, in milliseconds since 1970. */
async function commitTimes(owner: pg.Client): Promise<Map<string, number>> {
  const { rows } = await owner.query<{ id: string; ms: number }>(`
    select split_part(msg_id, '/', 2) as id,
           (extract(epoch from pg_xact_commit_timestamp(bench_transaction::xid)) * 1000)::float8 as ms
    from (select msg_id, subject, bench_transaction from tenancy.outbox
          union all select msg_id, subject, bench_transaction from identity.outbox) as outbox
    where subject like 'events.%'`);
  return new Map(rows.map(({ id, ms }) => [id, ms]));
}

/** The session that an access token names. */
function sessionOf(token: string): string {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8")).sid;
}

/** The body of a reply with that status; throws an Error with the reply otherwise. */
async function must(status: number, reply: ReturnType<typeof callAt>): Promise<Record<string, unknown>> {
  const { status: got, body } = await reply;
  if (got !== status) throw new Error(`answered ${got}: ${JSON.stringify(body)}`);
  return body;
}

/** Takes every delivery; times are milliseconds since 1970, as those of the events. */
async function startReceiver(): Promise<{ port: number; arrivals: Arrival[]; stop(): void }> {
  const arrivals: Arrival[] = [];
  const server = createServer((request, response) => {
    const atMs = performance.timeOrigin + performance.now();
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { id, type, timestamp, data } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
      const subject = String(data.deviceId ?? data.sessionId ?? data.id);
      arrivals.push({ id, type, subject, atMs, eventMs: Date.parse(timestamp) });
      response.writeHead(200, { "content-length": 2 }).end("ok");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { port, arrivals, stop: () => void server.close() };
}
