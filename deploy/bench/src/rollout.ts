import { createHash } from "node:crypto";
import { type RunningStack, startStack } from "@muster/local";
import type { DeviceFacts } from "@muster/proto/muster/common/v1/device_pb";
import pg from "pg";
import { administrator, type Call, newOrganization, password } from "./administrator.ts";
import { type Agent, insertAgents } from "./agent-rows.ts";
import { asGateway, type HeartbeatReply, type UpdateReport } from "./as-gateway.ts";
import { cpuMicros } from "./cpu.ts";
import { loadAverage, untilIdle } from "./process-usage.ts";
import type { Report } from "./report.ts";
import { simulateRollouts } from "./rollout-figures.ts";

type Gateway = ReturnType<typeof asGateway>;
/** One agent: what it runs, and what it was offered and has not done yet. */
type Sim = Agent & { version: string; offered: string | null; report: UpdateReport | null };
type Staged = { id: string; version: string; threshold: number; cap: number };

const batchSize = 500;
const together = 2;
const badPercent = 5;
const bucketPercent = 50;
const cap = 1_000;
const haltFailures = 50;
const decideMs = 5_000;
/** Limit for both rollouts together: a run that takes longer fails and reports how far it came. */
const boundMs = 8 * 60_000;
const sayEveryMs = 15_000;

/**
 * `npm run bench -- rollout [agents|model]`: simulated fleets first (rollout-figures.ts), with `model` alone. Then a
 * fleet (default 50,000) that calls tenancy and agent-release as a gateway does.
 * A release that fails on 5 % of its devices is rolled out to rings, a bucket of 50 %, and organizations with a closed
 * window or a manual policy; then a good one to all devices. Ends with status 1 when the bad one fails on twice its
 * threshold, when a device is offered a release that is not for it, or after eight minutes. Then measures how many
 * devices per second agent-release decides about.
 */
export async function run(args: string[], report: Report): Promise<void> {
  await simulateRollouts(report);
  if (args[0] === "model") return;
  const count = Math.min(Number(args[0] ?? 50_000), 100_000);
  const env = { AGENT_AUTO_PROMOTE: "false", PASSWORD_SCRYPT_LOG_N: "10", HEARTBEAT_INTERVAL_SECONDS: "3600" };
  const running = await startStack({ adminPassword: password, env });
  const database = new pg.Client({ connectionString: running.stack.databaseUrl });
  await database.connect();
  const gateway = asGateway(running);
  try {
    const root = await administrator(running.stack.gateways[0]?.url ?? "");
    const owners = [];
    for (let i = 0; i < 5; i++) owners.push(await newOrganization(root));
    const [open, alsoOpen, closed, manual, outside] = owners.map(({ orgId }) => orgId) as [
      string,
      string,
      string,
      string,
      string,
    ];
    const agents = await insertAgents(running.stack.databaseUrl, owners, count);
    await database.query(
      `UPDATE tenancy.devices SET status = 'online', last_seen_at = now(), offline_check_at = now() + interval '1 hour'`,
    );
    const fleet = agents.map((agent): Sim => ({ ...agent, version: "1.0.0", offered: null, report: null }));
    const day = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"][(new Date().getUTCDay() + 3) % 7];
    await put(root, closed, { windowDays: [day] });
    await put(root, manual, { updatePolicy: "manual" });

    const endMs = performance.now() + boundMs;
    const ring = { name: "first", orgIds: [open, alsoOpen, closed, manual] };
    const bad = await stage(root, "1.1.0", { rings: [ring], percent: bucketPercent });
    const isTheirs = ({ id, orgId }: Sim) => [open, alsoOpen].includes(orgId) && inBucket(bad.id, id);
    const badRun = await drive({
      gateway,
      database,
      fleet,
      rollout: bad,
      failing: badPercent,
      isTheirs,
      sweeps: 3,
      endMs,
    });

    for (const orgId of [closed, manual]) await put(root, orgId, {});
    await order(root, "POST", `/agent-versions/rollouts/${bad.id}/cancel`);
    const good = await stage(root, "1.2.0", {});
    const goodRun = await drive({
      gateway,
      database,
      fleet,
      rollout: good,
      failing: 0,
      isTheirs: () => true,
      sweeps: 40,
      endMs,
    });
    console.log(
      `${count} agents in 5 organizations, batches of ${batchSize}, ${together} at a time; load ${loadAverage()}`,
    );
    console.table([badRun, goodRun]);
    const updated = fleet.filter(({ version }) => version === "1.2.0").length;
    console.log(`${updated} of ${count} run the good release; ${outside} was outside of the bad one's ring`);

    const measured = async () => {
      const facts = await factsOf(gateway, fleet.slice(0, 5_000));
      // The fleet's events are behind its heartbeats.
      await untilIdle([process.pid]);
      return decisions(running, gateway, facts);
    };
    const upToDate = await measured();
    await stage(root, "1.3.0", { maxInFlight: 1 });
    const full = await measured();
    console.table([
      { decisions: "up to date", ...upToDate, load: loadAverage() },
      { decisions: "budget full", ...full },
    ]);
    report.atMost("failures before the halt", badRun.failed, "devices", 2 * bad.threshold - 1);
    report.none({
      "offered outside of ring, bucket, window": badRun.outside + goodRun.outside,
      "offered twice": badRun.doubled + goodRun.doubled,
      "offered after the halt": badRun["offers after the halt"],
    });
    report.atMost("in flight at most", Math.max(badRun["most in flight"], goodRun["most in flight"]), "devices", cap);
    report.atLeast("reached by the good release", updated, "devices", count);
    report.atLeast("Decide, up to date", upToDate.perSecond, "devices/s", 25_000);
    report.atLeast("Decide, budget full", full.perSecond, "devices/s", 8_000);
    report.also("Decide, up to date, CPU of agent-release", upToDate.cpuMicros, "µs a device");
    report.also("Decide, budget full, CPU of agent-release", full.cpuMicros, "µs a device");
    report.also("offers before the halt", badRun.offers, "");
    report.also("good release", goodRun.seconds, "s");
    const isHeld =
      badRun.state === "halted" &&
      badRun.failed < 2 * bad.threshold &&
      badRun.outside + goodRun.outside + badRun["offers after the halt"] === 0 &&
      Math.max(badRun["most in flight"], goodRun["most in flight"]) <= cap &&
      badRun.doubled + goodRun.doubled === 0 &&
      updated === count;
    if (!isHeld) process.exitCode = 1;
  } finally {
    await gateway.close();
    await database.end();
    await running.stop();
  }
}

/** Sends heartbeats of the fleet, devices with an offer first, until the rollout halts or each device sent `sweeps`. */
async function drive(of: {
  gateway: Gateway;
  database: pg.Client;
  fleet: Sim[];
  rollout: Staged;
  failing: number;
  isTheirs(agent: Sim): boolean;
  sweeps: number;
  /** On the clock of performance.now(). */
  endMs: number;
}) {
  const { gateway, database, fleet, rollout, failing, isTheirs, sweeps, endMs } = of;
  const waiting = [...fleet];
  const busy: Sim[] = [];
  const offers = new Map<string, number>();
  let [outside, afterHalt, mostInFlight, received] = [0, 0, 0, 0];
  let state = { state: "running", in_flight: 0, succeeded: 0, failed: 0 };
  const startedMs = performance.now();
  let sayMs = startedMs + sayEveryMs;

  const act = (agent: Sim, { answer }: HeartbeatReply) => {
    agent.report = null;
    const offer = answer?.offers[0];
    if (!offer) return waiting.push(agent);
    if (agent.offered !== offer.attemptId) {
      offers.set(agent.id, (offers.get(agent.id) ?? 0) + 1);
      if (!isTheirs(agent)) outside++;
      if (state.state === "halted") afterHalt++;
    }
    agent.offered = offer.attemptId;
    if (Number.parseInt(agent.id.slice(0, 8), 16) % 100 < failing) {
      agent.report = { component: "agent", version: offer.version, state: "failed", error: "" };
    } else agent.version = offer.version;
    return busy.push(agent);
  };
  const one = async () => {
    const batch = [...busy.splice(0, batchSize)];
    batch.push(...waiting.splice(0, batchSize - batch.length));
    received += batch.length;
    const sent = batch.map(({ id: deviceId, orgId, version: agentVersion, report }) => {
      return { deviceId, orgId, agentVersion, report, knownVersion: 0n };
    });
    const answers = await gateway.heartbeats(sent);
    answers.forEach((answer, at) => void act(batch[at] as Sim, answer));
  };
  const isOver = () =>
    (busy.length === 0 && state.in_flight === 0 && (state.succeeded >= fleet.length || state.state === "halted")) ||
    received > sweeps * fleet.length;
  let haltedAtReceived = Number.POSITIVE_INFINITY;
  while (!isOver() || received < haltedAtReceived + (state.state === "halted" ? fleet.length : 0)) {
    if (received > (sweeps + 1) * fleet.length || performance.now() > endMs) break;
    if (performance.now() > sayMs) {
      sayMs += sayEveryMs;
      console.error(`${rollout.version}: ${received} heartbeats, ${JSON.stringify(state)}`);
    }
    await Promise.all(Array.from({ length: together }, one));
    const { rows } = await database.query(
      "SELECT state, in_flight, succeeded, failed FROM agent_release.rollout WHERE id = $1",
      [rollout.id],
    );
    state = rows[0] ?? state;
    mostInFlight = Math.max(mostInFlight, state.in_flight);
    // Sends heartbeats of all devices once more: none may be offered the release.
    if (state.state === "halted" && haltedAtReceived === Number.POSITIVE_INFINITY) haltedAtReceived = received;
    if (state.state !== "halted" && isOver()) break;
  }
  return {
    release: rollout.version,
    state: state.state,
    offers: [...offers.values()].reduce((sum, n) => sum + n, 0),
    succeeded: state.succeeded,
    failed: state.failed,
    "twice the threshold": 2 * rollout.threshold,
    outside,
    doubled: [...offers.values()].filter((n) => n > 1).length,
    "offers after the halt": afterHalt,
    "most in flight": mostInFlight,
    cap: rollout.cap,
    heartbeats: received,
    seconds: Number(((performance.now() - startedMs) / 1000).toFixed(1)),
  };
}

/** Devices a second, in batches, two in flight, and microseconds of agent-release for each. */
async function decisions(running: RunningStack, gateway: Gateway, devices: readonly DeviceFacts[]) {
  let [done, at] = [0, 0];
  const usedBefore = usedByReleases(running);
  const startedMs = performance.now();
  const one = async () => {
    while (performance.now() - startedMs < decideMs) {
      const batch = devices.slice(at, at + batchSize).map((device) => ({ device }));
      at = (at + batchSize) % devices.length;
      await gateway.decide(batch);
      done += batch.length;
    }
  };
  await Promise.all(Array.from({ length: together }, one));
  const perSecond = Math.round(done / ((performance.now() - startedMs) / 1000));
  return { perSecond, cpuMicros: (usedByReleases(running) - usedBefore) / done };
}

const usedByReleases = (running: RunningStack) => cpuMicros(running).get("agent-release") ?? 0;

async function factsOf(gateway: Gateway, agents: readonly Sim[]): Promise<DeviceFacts[]> {
  const facts: DeviceFacts[] = [];
  for (let at = 0; at < agents.length; at += batchSize) {
    const batch = agents.slice(at, at + batchSize).map(({ id: deviceId, orgId, version: agentVersion }) => {
      return { deviceId, orgId, agentVersion, report: null, knownVersion: 0n };
    });
    facts.push(...(await gateway.heartbeats(batch)).flatMap((received) => (received.facts ? [received.facts] : [])));
  }
  return facts;
}

/** Registers a version of the agent and rolls it out in stages. */
async function stage(root: Call, version: string, change: object): Promise<Staged> {
  const file = {
    os: "linux",
    arch: "amd64",
    size: 1,
    sha256: createHash("sha256").update(version).digest("hex"),
    name: "agent",
  };
  const manifest = JSON.stringify({ version, component: "agent", artifacts: [file] });
  await order(root, "POST", "/agent-versions", { manifest, urls: { agent: "https://releases.example.com/agent" } });
  const limits = { maxInFlight: cap, haltAfterFailures: haltFailures, haltPercent: 3, soakSeconds: 0 };
  const { id } = await order(root, "POST", "/agent-versions/rollouts", {
    component: "agent",
    version,
    ...limits,
    ...change,
  });
  return { id: String(id), version, threshold: haltFailures, cap };
}

const put = (root: Call, orgId: string, body: object) =>
  order(root, "PUT", `/orgs/organizations/${orgId}/agent-updates`, body);

async function order(root: Call, method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const reply = await root(method, path, body);
  if (reply.status >= 300) throw new Error(`${method} ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

/** The documented rule, computed independently of the service. */
function inBucket(rolloutId: string, deviceId: string): boolean {
  const first = createHash("sha256")
    .update(rolloutId + deviceId)
    .digest()
    .readUInt32BE(0);
  return first < (bucketPercent * 2 ** 32) / 100;
}
