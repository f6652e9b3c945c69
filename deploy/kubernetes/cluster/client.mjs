// What the parts of trial.mjs share: kubectl, the API through the gateway's Service, waiting, and load.
import { execFile, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { dirname, join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { bareRound } from "../../bench/dist/bare-server.js";
import { newReport } from "../../bench/dist/report.js";
import { appendRun, commitOf, thisMachine } from "../../bench/dist/results.js";

const run = promisify(execFile);
export const dir = process.argv[2];
export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");
export const gateway = "http://muster-gateway.muster.svc.cluster.local";
export const workloads = [
  "gateway",
  "identity",
  "tenancy",
  "audit",
  "audit-retention",
  "device-logs",
  "webhook-matcher",
  "webhook-sender",
  "agent-release",
];

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const began = performance.now();
/**
 * Each line begins with the time since the start and the load of the machine: figures from a busy machine must be
 * recognizable.
 */
export const say = (line) =>
  console.log(`[${((performance.now() - began) / 1000).toFixed(0)} s, load ${loadavg()[0].toFixed(1)}] ${line}`);
/** Requests a second of the parts under load. */
export const rate = Number(process.env.RATE ?? 100);
/** Figures of the parts that ran, for the results of `bench cluster`. */
const report = newReport();
/** What must not have happened, by name, and what explains it: [name, value, unit]. */
export function figures(counts, ...others) {
  report.none(counts);
  for (const other of others) report.also(...other);
}

/**
 * With RECORD=1 the figures become a line of docs/performance/results/cluster.jsonl; `npm run bench:pages` shows them.
 */
export async function record(time, loadBefore) {
  if (process.env.RECORD !== "1") return;
  const { cpuUs } = await bareRound();
  appendRun(join(root, "docs/performance/results"), "cluster", {
    time,
    commit: commitOf(root),
    machine: thisMachine(cpuUs),
    load: [loadBefore, loadavg()[0]],
    command: `RATE=${rate} deploy/kubernetes/check cluster${process.env.KEDA === "1" ? " --keda" : ""}`,
    figures: report.figures,
  });
  say("recorded in docs/performance/results/cluster.jsonl");
}

export function must(condition, sentence) {
  if (!condition) throw new Error(`not so: ${sentence}`);
}

export async function kubectl(...args) {
  const { stdout } = await run("kubebox", ["kubectl", "-n", "muster", ...args], { maxBuffer: 64 << 20 });
  return stdout.trim();
}

export async function helm(...args) {
  const { stdout } = await run("helm", ["-n", "muster", ...args], { maxBuffer: 64 << 20 });
  return stdout.trim();
}

/** What a script writes to its standard output; throws when it fails. */
export async function bash(script) {
  const { stdout } = await run("bash", ["-euo", "pipefail", "-c", script], { maxBuffer: 64 << 20 });
  return stdout.trim();
}

/** The first truthy answer of `look`; throws after `ms`, with the last error. */
export async function until(what, look, ms = 60_000) {
  const end = performance.now() + ms;
  let last = "";
  while (performance.now() < end) {
    try {
      const found = await look();
      if (found) return found;
      last = String(found);
    } catch (error) {
      last = error.message;
    }
    await sleep(250);
  }
  throw new Error(`not within ${ms / 1000} s: ${what} (${last})`);
}

export async function call(method, path, body, token) {
  const send = () =>
    fetch(`${gateway}/api/v1${path}`, {
      method,
      headers: {
        // Decompression takes one more turn of the event loop, for which a busy machine may leave no time before the
        // timeout.
        "accept-encoding": "identity",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(token ? { authorization: `Bearer ${token}` } : {}),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000),
    });
  const response = await send().catch((error) => {
    // Repeats a request as browsers and proxies do when an idle connection is closed while they send (RFC 9112, 9.3.1).
    if (method !== "GET" || !closed.has(error.cause?.code)) throw error;
    resent += 1;
    return send();
  });
  const text = await response.text().catch((error) => {
    const id = response.headers.get("x-request-id");
    throw new Error(`${error.message}, after the headers of ${response.status} ${id}`, { cause: error.cause });
  });
  return { status: response.status, body: text.startsWith("{") ? JSON.parse(text) : text };
}
const closed = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"]);
let resent = 0;

/** As `call`, but anything other than 2xx throws. */
export async function ask(...args) {
  const { status, body } = await call(...args);
  if (status >= 300) throw new Error(`${args[0]} ${args[1]} answered ${status}: ${JSON.stringify(body).slice(0, 300)}`);
  return body;
}

export const keys = () => JSON.parse(readFileSync(join(dir, "keys", "keys.json"), "utf8"));

/** Functions that stop the running loads. */
const loads = new Set();

/**
 * Begins `perSecond` calls a second, turn by turn over `calls`, also those that a busy machine made late;
 * `slower(rate)` changes that, `stop()` waits for the last and returns the figures.
 */
export function load(perSecond, calls) {
  const figures = { sent: 0, failed: [], slowestMs: 0 };
  const open = new Set();
  const begin = () => {
    const each = calls[figures.sent % calls.length];
    figures.sent += 1;
    const startedMs = performance.now();
    const failed = (kind, body) => {
      const tookMs = Math.round(performance.now() - startedMs);
      figures.failed.push({ kind: `${kind} of ${each.name}`, body, tookMs, at: new Date().toISOString() });
    };
    const done = each()
      .then(({ status, body }) => {
        if (status >= 300) failed(`${status} ${body?.code ?? body}`, body);
      })
      .catch((error) => failed(`${error.message} ${error.cause?.code ?? ""}`))
      .finally(() => {
        figures.slowestMs = Math.max(figures.slowestMs, performance.now() - startedMs);
        open.delete(done);
      });
    open.add(done);
  };
  const every = (each) => {
    const [startedMs, before] = [performance.now(), figures.sent];
    return setInterval(() => {
      const due = before + ((performance.now() - startedMs) * each) / 1_000;
      while (figures.sent < due) begin();
    }, 1_000 / each);
  };
  let timer = every(perSecond);
  const resentBefore = resent;
  const stop = async () => {
    clearInterval(timer);
    loads.delete(stop);
    await Promise.all(open);
    return { ...figures, resent: resent - resentBefore };
  };
  loads.add(stop);
  return {
    figures,
    slower(each) {
      clearInterval(timer);
      timer = every(each);
    },
    stop,
  };
}

/**
 * Reads the gateways' metrics; `stop()` returns their longest event-loop lag, that of this process, and what they
 * shed.
 */
export function watchGateways() {
  const shedBy = new Map();
  const reasons = new Set();
  let lagMs = 0;
  let going = true;
  const look = async (address) => {
    const text = await (await fetch(`http://${address}:9090/metrics`, { signal: AbortSignal.timeout(900) })).text();
    const [, lag = "0"] = /^muster_gateway_event_loop_lag_p99_seconds ([0-9.e+-]+)/m.exec(text) ?? [];
    lagMs = Math.max(lagMs, Number(lag) * 1000);
    let shed = 0;
    for (const [, labels, count] of text.matchAll(/^muster_gateway_overload_rejected_total\{([^}]*)\} (\d+)/gm)) {
      shed += Number(count);
      if (Number(count) > 0) reasons.add(labels);
    }
    shedBy.set(address, shed);
  };
  const watching = (async () => {
    for (let turn = 0, addresses = []; going; turn += 1) {
      if (turn % 5 === 0) {
        const pods = [
          "get",
          "pods",
          "-l",
          "app.kubernetes.io/component=gateway",
          "-o",
          "jsonpath={.items[*].status.podIP}",
        ];
        addresses = (await kubectl(...pods).catch(() => "")).split(" ").filter(Boolean);
      }
      await Promise.all(addresses.map((address) => look(address).catch(() => undefined)));
      await sleep(1_000);
    }
  })();
  const own = monitorEventLoopDelay();
  own.enable();
  return async () => {
    going = false;
    own.disable();
    await watching;
    const shed = [...shedBy.values()].reduce((sum, each) => sum + each, 0);
    const ownMs = Math.round(own.max / 1e6);
    return `gateways' lag ≤ ${Math.round(lagMs)} ms, this client's ≤ ${ownMs} ms, ${[shed, ...reasons].join(" ")} shed`;
  };
}

/**
 * Samples `kubectl top` every 10 s; `report()` returns a line per workload: MiB of a pod at the least, which is its
 * rest, and at most.
 */
export function watchMemory() {
  const seen = new Map();
  const sample = async () => {
    const text = await kubectl("top", "pods", "--no-headers").catch(() => "");
    for (const [, pod, cpu, mib] of text.matchAll(/^muster-(\S+)\s+(\d+)m\s+(\d+)Mi/gm)) {
      const name = workloads.filter((each) => pod.startsWith(`${each}-`)).at(-1);
      const figures = seen.get(name) ?? { least: Number.POSITIVE_INFINITY, most: 0, cpu: 0 };
      figures.least = Math.min(figures.least, Number(mib));
      figures.most = Math.max(figures.most, Number(mib));
      figures.cpu = Math.max(figures.cpu, Number(cpu));
      seen.set(name, figures);
    }
  };
  const timer = setInterval(sample, 10_000);
  return async () => {
    clearInterval(timer);
    await sample();
    return [...seen]
      .sort()
      .map(([name, { least, most, cpu }]) => `${name.padEnd(16)} ${least} – ${most} MiB, CPU at most ${cpu} m`);
  };
}

/** Throws when a probe failed while pods started; returns in a sentence how long after its start a pod was ready. */
export async function healthyStarts() {
  const pods = JSON.parse(await kubectl("get", "pods", "-o", "json")).items;
  const seconds = pods.flatMap(({ status }) => {
    const ready = status.conditions?.find(({ type, status: is }) => type === "Ready" && is === "True");
    const started = status.containerStatuses?.[0]?.state?.running?.startedAt;
    return ready && started ? [(Date.parse(ready.lastTransitionTime) - Date.parse(started)) / 1000] : [];
  });
  const events = JSON.parse(await kubectl("get", "events", "--field-selector", "reason=Unhealthy", "-o", "json")).items;
  const warnings = events.map(({ involvedObject, message }) => `${involvedObject.name}: ${message}`);
  must(warnings.length === 0, `a healthy start has no warning of a probe: ${warnings.join("; ")}`);
  return `pods were ready ${Math.min(...seconds)} to ${Math.max(...seconds)} s after they began, no probe failed`;
}

/** Throws when the kubelet restarted a container: it ended by itself or ran out of memory. */
export async function noRestarts() {
  const pods = JSON.parse(await kubectl("get", "pods", "-o", "json")).items;
  for (const { metadata, status } of pods) {
    for (const { name, restartCount, lastState } of status.containerStatuses ?? []) {
      must(restartCount === 0, `${metadata.name}/${name} never started again (${JSON.stringify(lastState)})`);
    }
  }
}

/**
 * Ends the load of a part that failed and waits until every deployment has its pods again; reports those that do not.
 */
export async function settled() {
  for (const stop of loads) await stop();
  for (const name of workloads) {
    await kubectl("rollout", "status", `deployment/muster-${name}`, "--timeout=120s").catch(({ message }) =>
      say(message),
    );
  }
}

/** A program of the checkout that runs until the trial ends. */
export function program(script, ...args) {
  const child = spawn(process.execPath, [join(root, script), ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let out = "";
  child.stdout.on("data", (text) => {
    out += text;
  });
  process.once("exit", () => child.kill());
  return { child, out: () => out };
}
