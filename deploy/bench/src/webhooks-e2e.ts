import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { type RunningStack, startStack } from "@muster/local";
import { administrator, password } from "./administrator.ts";
import { percentiles } from "./percentiles.ts";
import { type Groups, loadAverage, type Usage, usageOf } from "./process-usage.ts";
import type { Report } from "./report.ts";
import { type Row, reportTo, type Step, steps } from "./webhooks-e2e-figures.ts";
import { clockMs, endpointsOfTenant, type Plan, type Posted, post, type Tenant } from "./webhooks-e2e-load.ts";
// Types alone: the module is the receiver's program, and listens.
import type { Arrivals } from "./webhooks-e2e-receiver.ts";
import { makeTenants, type Receiver, startArrivalReceiver } from "./webhooks-e2e-setup.ts";

const tenantCount = 50;
/**
 * Further tenants with a host each, all of whose endpoints hang in the step `dead`; no other step posts their events.
 */
const deadCount = 10;
const connections = 16;
const warmSeconds = 5;
/** Before the first step that posts: at 100 events/s a fifth of a young gateway's time is V8's compiler's. */
const firstSeconds = 30;
/**
 * Until relays and gateways have given their leases back, V8 has shrunk the heaps of the start, and audit has signed
 * the chains that the set-up moved, a minute after.
 */
const restSeconds = 150;
const drainSeconds = 60;
const hotTenant = 17;
const deadNames = Array.from({ length: deadCount }, (_, n) => `dead${n}.test`);

/**
 * `npm run bench -- webhooks-e2e [steps] [seconds] [rounds]`: the whole way of an event, through `POST /events` of a
 * whole cluster to the receiver, 50 organizations with 4 webhooks each, 600 bytes. Steps
 * (`idle,rest,capacity,neighbour,hanging,dead,kill`, all of them when not said) for as many seconds (20) and rounds
 * (1): nothing at all; 100 events a second; 16 connections as fast as they go; the same beside one busy process of nice
 * 10 per core; 100 a second of which 30 % go to a tenant with one endpoint that hangs; 100 a second of which a sixth
 * goes to ten more tenants with four endpoints each that all hang; 200 a second while the dispatcher is killed −9 three
 * times. Before the first step that posts events, 16 connections post for half a minute, which is not measured. Ends
 * with status 1 when an accepted event was lost or repeated without saying so.
 */
export async function run(
  [wanted = steps.join(","), seconds = "20", rounds = "1"]: string[],
  report: Report,
): Promise<void> {
  const unknown = wanted.split(",").filter((each) => !steps.some((step) => step === each));
  if (unknown.length > 0) throw new Error(`Not a step: ${unknown.join(", ")}`);
  const receiver = await startArrivalReceiver();
  const name = "receiver.test";
  const running = await startStack({
    adminPassword: password,
    env: {
      PASSWORD_SCRYPT_LOG_N: "12",
      EGRESS_TEST_EXCEPTIONS: [name, ...deadNames].map((each) => `http://${each}:${receiver.port}=127.0.0.1`).join(","),
    },
  });
  const table: Row[] = [];
  try {
    const call = await administrator(running.stack.gateways[0]?.url ?? "");
    const names = [...Array.from({ length: tenantCount }, () => name), ...deadNames];
    const tenants = await makeTenants(
      call,
      names.map((each) => `http://${each}:${receiver.port}`),
    );
    const bench = { running, receiver, tenants, seconds: Number(seconds) };
    let isWarm = false;
    for (let round = 0; round < Number(rounds); round++) {
      for (const step of steps.filter((each) => wanted.split(",").includes(each))) {
        if (step !== "idle" && !isWarm) await warmUp(bench);
        isWarm ||= step !== "idle";
        const row = await measure(bench, step);
        console.log(JSON.stringify(row));
        table.push(row);
      }
    }
  } finally {
    await running.stop();
    receiver.stop();
  }
  console.table(table);
  reportTo(report, table);
  if (table.some(({ lost, "silent repeats": repeats }) => lost !== 0 || repeats !== 0)) process.exitCode = 1;
}

type Bench = { running: RunningStack; receiver: Receiver; tenants: Tenant[]; seconds: number };

/** What a cluster costs that has been in use for a while: its code is compiled. */
async function warmUp({ running, receiver, tenants }: Bench): Promise<void> {
  const run = randomUUID().slice(0, 8);
  const port = Number(new URL(running.stack.gateways[0]?.url ?? "").port);
  await receiver.reset(run, []);
  const posted = await post({
    port,
    tenants: tenantsIn("rest", tenants),
    run,
    connections,
    rate: null,
    seconds: firstSeconds,
    hot: null,
  });
  await drained(receiver, posted, "rest");
}

async function measure(bench: Bench, step: Step): Promise<Row> {
  const { running, receiver, tenants, seconds } = bench;
  const run = randomUUID().slice(0, 8);
  const plan: Plan = {
    port: Number(new URL(running.stack.gateways[0]?.url ?? "").port),
    tenants: tenantsIn(step, tenants),
    run,
    connections,
    rate: step === "capacity" || step === "neighbour" ? null : step === "kill" ? 200 : 100,
    seconds: warmSeconds + seconds,
    hot: step === "hanging" ? { tenant: hotTenant, share: 0.3 } : null,
  };
  await receiver.reset(run, hangingIn(step));
  const loadBefore = loadAverage();
  const fromMs = clockMs() + (step === "idle" ? restSeconds : warmSeconds) * 1_000;
  const toMs = fromMs + seconds * 1_000;
  const neighbours = step === "neighbour" ? busyNeighbours() : null;
  const posting = step === "idle" ? Promise.resolve([]) : post(plan);
  await sleep(fromMs - clockMs());
  const usage = watchUsage(groupsOf(running));
  if (step === "kill") await killThrice(running, seconds);
  await sleep(Math.max(0, toMs - clockMs()));
  // The CPU time of killed processes is lost: a figure without it would mean nothing.
  const used = step === "kill" ? null : usage.stop();
  const posted = await posting;
  neighbours?.stop();
  const arrivals = await drained(receiver, posted, step);
  const loads = `${loadBefore.toFixed(1)} → ${loadAverage().toFixed(1)}`;
  return rowOf({ step, seconds, fromMs, toMs, posted, arrivals, used, loads });
}

type Measured = {
  step: Step;
  seconds: number;
  fromMs: number;
  toMs: number;
  posted: Posted[];
  arrivals: Arrivals;
  used: Used | null;
  loads: string;
};

function rowOf({ step, seconds, fromMs, toMs, posted, arrivals, used, loads }: Measured): Row {
  const latencies: number[] = [];
  const answers: number[] = [];
  const refusals = posted.filter(({ status }) => status !== 0 && (status < 200 || status > 299));
  let [accepted, arrived, backlog, lost] = [0, 0, 0, 0];
  for (const [number, { tenant, sentMs, acceptedMs }] of posted.entries()) {
    const isInside = acceptedMs >= fromMs && acceptedMs < toMs;
    if (isInside) {
      accepted += 1;
      answers.push(acceptedMs - sentMs);
    }
    for (let endpoint = 0; endpoint < endpointsOfTenant; endpoint++) {
      const at = arrivals.at[number * endpointsOfTenant + endpoint] ?? 0;
      if (at >= fromMs && at < toMs) arrived += 1;
      if (acceptedMs === 0) continue;
      const hangs = isHanging(step, tenant);
      if (at === 0 && !hangs) lost += 1;
      if (!hangs && acceptedMs < toMs && (at === 0 || at > toMs)) backlog += 1;
      if (isInside && at > 0 && !hangs) latencies.push(at - acceptedMs);
    }
  }
  const [arrival, answer] = [percentiles(latencies), percentiles(answers)];
  const perDelivery = (ms: number) => (arrived > 0 ? Math.round((ms * 1_000) / arrived) : "");
  const ofCore = (ms: number) => ((ms / seconds / 1_000) * 100).toFixed(1);
  const ms = (value: number, digits = 1) => (Number.isNaN(value) ? "" : value.toFixed(digits));
  return {
    step,
    load: loads,
    "events/s": Math.round(accepted / seconds),
    "deliveries/s": Math.round(arrived / seconds),
    "202 p50": ms(answer(0.5)),
    "202 p99": ms(answer(0.99)),
    "arrival p50": ms(arrival(0.5), 2),
    "arrival p99": ms(arrival(0.99), 2),
    max: ms(arrival(1), 0),
    "backlog at end": backlog,
    refused: refusals.length,
    "without Retry-After": refusals.filter(({ tellsWhen }) => !tellsWhen).length,
    lost,
    "silent repeats": arrivals.counts.silentRepeats,
    "µs/delivery": used ? perDelivery(used.totalMs) : "",
    "% of a core": used ? ofCore(used.totalMs) : "",
    by: [...(used?.groups ?? [])]
      .map(([name, each]) => `${name} ${perDelivery(each.cpuMs) || ofCore(each.cpuMs)}`)
      .join(" "),
    "PSS MB": used ? Math.round(used.pssMb) : "",
  };
}

/** The tenants whose events a step posts. */
function tenantsIn(step: Step, tenants: readonly Tenant[]): readonly Tenant[] {
  return step === "dead" ? tenants : tenants.slice(0, tenantCount);
}

/** Whether the step measures no deliveries to this tenant: any of its endpoints hangs. */
function isHanging(step: Step, tenant: number): boolean {
  return (step === "hanging" && tenant === hotTenant) || tenant >= tenantCount;
}

/** The endpoints that hang in a step. */
function hangingIn(step: Step): number[] {
  if (step === "hanging") return [hotTenant * endpointsOfTenant];
  if (step !== "dead") return [];
  return Array.from({ length: deadCount * endpointsOfTenant }, (_, n) => tenantCount * endpointsOfTenant + n);
}

type Used = { totalMs: number; groups: Map<string, Usage>; pssMb: number };

function watchUsage(groups: Groups): { stop(): Used } {
  const before = usageOf(groups);
  return {
    stop() {
      const used = new Map(
        [...usageOf(groups)].map(([name, usage]) => [
          name,
          { ...usage, cpuMs: usage.cpuMs - (before.get(name)?.cpuMs ?? 0) },
        ]),
      );
      const sum = (of: (usage: Usage) => number) => [...used.values()].reduce((total, each) => total + of(each), 0);
      return { totalMs: sum(({ cpuMs }) => cpuMs), groups: used, pssMb: sum(({ pssMb }) => pssMb) };
    },
  };
}

/** Everything that the cluster is, stores included; its supervisor only watches. */
function groupsOf(running: RunningStack): Groups {
  const { gateways, services, workers, nats, postgres } = running.refresh();
  const pids = (each: { pid: number | null } | null) => (each?.pid ? [each.pid] : []);
  return {
    gateway: gateways.flatMap(pids),
    ...Object.fromEntries(Object.entries({ ...services, ...workers }).map(([name, each]) => [name, pids(each)])),
    nats: pids(nats),
    postgres: pids(postgres),
  };
}

/** The load of another program such as a compiler: one loop per core, of a lower priority. */
function busyNeighbours(): { stop(): void } {
  const loops = Array.from({ length: availableParallelism() }, () =>
    spawn("nice", ["-n", "10", process.execPath, "-e", "for (;;);"], { stdio: "ignore" }),
  );
  return { stop: () => loops.forEach((loop) => void loop.kill("SIGKILL")) };
}

async function killThrice(running: RunningStack, seconds: number): Promise<void> {
  for (let kill = 0; kill < 3; kill++) {
    await sleep((seconds * 1_000) / 4);
    const pid = running.refresh().services["webhook-dispatcher"]?.pid;
    if (pid) process.kill(pid, "SIGKILL");
  }
}

/** Arrivals once everything that was accepted is there, or did not come in time. */
async function drained(receiver: Receiver, posted: readonly Posted[], step: Step): Promise<Arrivals> {
  const deadlineMs = clockMs() + drainSeconds * 1_000;
  for (;;) {
    const arrivals = await receiver.arrivals(posted.length);
    const isMissing = (number: number) =>
      Array.from({ length: endpointsOfTenant }, (_, e) => arrivals.at[number * endpointsOfTenant + e]).includes(0);
    const late = posted.some(
      ({ acceptedMs, tenant }, number) => acceptedMs > 0 && !isHanging(step, tenant) && isMissing(number),
    );
    if (!late || clockMs() > deadlineMs) return arrivals;
    await sleep(500);
  }
}
