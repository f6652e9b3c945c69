import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism, loadavg } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startStack } from "@muster/local";
import type { Abuse } from "./abuse-client.ts";
import { callAt, newAdministrator, newOrganization, password } from "./administrator.ts";
import type { ProbeRound } from "./logins-probe.ts";
import type { Report } from "./report.ts";

/** Requests of the signed-in person per second, sent at their time whether earlier ones were answered or not. */
const perSecond = 100;
const rounds = 3;
const roundMs = 10_000;
/** Until all slow bodies are in flight. */
const buildUpMs = 3_000;

/**
 * `npm run bench -- abuse`: latency of a signed-in user (GET /devices), alone and while unauthenticated callers
 * send 10 hostile Content-Type headers a second and 1,200 bodies of a byte a second, and another tenant requests 1,000
 * verifications, alternately.
 */
export async function run(_args: string[], report: Report): Promise<void> {
  const cluster = await startStack({ env: { LOG_LEVEL: "warn" }, adminPassword: password });
  try {
    const url = cluster.stack.gateways[0]?.url ?? "";
    const { call, token } = await newAdministrator(url);
    const { orgId } = await newOrganization(call);
    const fields = { orgId, name: "Verifier", scopes: ["audit:read"], rateLimit: 100_000 };
    const key = String((await call("POST", "/api-keys", fields)).body.key);
    const probe = startedSide("logins-probe", [url, token, String(perSecond)]);
    await answerOf(probe);
    await probed(probe, 3_000);
    const alone: ProbeRound[] = [];
    const abused: ProbeRound[] = [];
    const seen: Abuse = {};
    for (let round = 0; round < rounds; round++) {
      alone.push(await probed(probe, roundMs));
      const abuse = startedSide("abuse-client", [new URL(url).port, key]);
      await answerOf(abuse);
      abuse.send("start");
      await delay(buildUpMs);
      abused.push(await probed(probe, roundMs));
      const answered = answerOf<Abuse>(abuse);
      abuse.send("stop");
      for (const [name, n] of Object.entries(await answered)) seen[name] = (seen[name] ?? 0) + n;
      abuse.disconnect();
    }
    probe.disconnect();
    print(alone, abused, seen, report);
    const health = await callAt(url, token, "GET", "/auth/me");
    console.log(`afterwards GET /auth/me answers ${health.status}; load average ${loadavg()[0]?.toFixed(1)}`);
  } finally {
    await cluster.stop();
  }
}

function print(alone: readonly ProbeRound[], abused: readonly ProbeRound[], seen: Abuse, report: Report): void {
  const median = (list: readonly ProbeRound[], field: keyof ProbeRound) =>
    list.map((round) => round[field]).sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0;
  const row = (name: string, list: readonly ProbeRound[]) => ({
    "signed-in person": name,
    "p50 ms": median(list, "p50").toFixed(2),
    "p95 ms": median(list, "p95").toFixed(2),
    "p99 ms": median(list, "p99").toFixed(2),
    "max ms": median(list, "max").toFixed(1),
    "refused, all rounds": list.reduce((sum, { refused }) => sum + refused, 0),
  });
  console.log(
    `${perSecond} requests/s, ${availableParallelism()} cores, medians of ${rounds} rounds of ${roundMs / 1_000} s in turns`,
  );
  console.table([row("alone", alone), row("under abuse", abused)]);
  report.atMost("p99 under abuse, of that alone", median(abused, "p99") / median(alone, "p99"), "×", 3);
  report.none({ "refused under abuse": abused.reduce((sum, { refused }) => sum + refused, 0) });
  report.also("p99 alone", median(alone, "p99"), "ms");
  report.also("p99 under abuse", median(abused, "p99"), "ms");
  report.also("p50 alone", median(alone, "p50"), "ms");
  report.also("p50 under abuse", median(abused, "p50"), "ms");
  console.log(`what the abuse got: ${JSON.stringify(seen)}`);
}

/** Both sides of the load are separate processes, so that neither delays the measurements of the other. */
function startedSide(script: "logins-probe" | "abuse-client", args: string[]): ChildProcess {
  return fork(fileURLToPath(new URL(`./${script}.js`, import.meta.url)), args);
}

async function answerOf<T>(side: ChildProcess): Promise<T> {
  const [answer] = (await once(side, "message")) as [T];
  return answer;
}

function probed(probe: ChildProcess, ms: number): Promise<ProbeRound> {
  const round = answerOf<ProbeRound>(probe);
  probe.send({ ms });
  return round;
}
