import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { startStack } from "@muster/local";
import { Secret, TOTP } from "otpauth";
import type { SignIns } from "./logins-client.ts";
import type { ProbeRound } from "./logins-probe.ts";
import type { Report } from "./report.ts";

const email = "admin@muster.local";
const password = "a password of the bench only";
const loginClients = 100;
/** Keyed requests per second, sent at their time whether earlier ones were answered or not. */
const perSecond = 300;
const rounds = 3;
const roundMs = 10_000;
const mostTimes = 2;

type Body = Record<string, unknown>;

/**
 * `npm run bench -- logins [checks at a time]`: latency of keyed requests (GET /devices, through gateway, identity's
 * limits and tenancy) at a steady rate, alone and while 100 clients sign in over and over with hashes of production
 * cost, alternately.
 */
export async function run([concurrency = "0"]: string[], report: Report): Promise<void> {
  const env = { PASSWORD_SCRYPT_LOG_N: "17", PASSWORD_CONCURRENCY: concurrency, LOG_LEVEL: "info" };
  const cluster = await startStack({ env, adminPassword: password });
  try {
    const [gateway] = cluster.stack.gateways;
    const url = gateway?.url ?? "";
    const key = await newKey(url);
    const identityPid = cluster.stack.services.identity?.pid ?? 0;
    const probe = startedSide("logins-probe", [url, key, String(perSecond)]);
    await answerOf(probe);
    await keyed(probe, 3_000);
    const results: Record<string, ProbeRound[]> = { alone: [], "with 100 clients that sign in": [] };
    const logins = { answered: 0, busy: 0, seconds: 0, cpuMs: 0 };
    for (let round = 0; round < rounds; round++) {
      results.alone?.push(await keyed(probe, roundMs));
      const load = startedSide("logins-client", [new URL(url).port, email, password, String(loginClients)]);
      await answerOf(load);
      load.send("start");
      const [cpu, startedMs] = [cpuMs(identityPid), performance.now()];
      results["with 100 clients that sign in"]?.push(await keyed(probe, roundMs));
      logins.cpuMs += cpuMs(identityPid) - cpu;
      logins.seconds += (performance.now() - startedMs) / 1_000;
      const signIns = answerOf<SignIns>(load);
      load.send("stop");
      const { answered, busy } = await signIns;
      logins.answered += answered;
      logins.busy += busy;
    }
    probe.disconnect();
    print(results, logins, report);
  } finally {
    await cluster.stop();
  }
}

function print(
  results: Record<string, ProbeRound[]>,
  logins: { answered: number; busy: number; seconds: number; cpuMs: number },
  report: Report,
) {
  const median = (values: number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
  const of = (name: string, field: keyof ProbeRound) => median((results[name] ?? []).map((round) => round[field]));
  console.log(
    `${perSecond} keyed requests/s, ${availableParallelism()} cores, medians of ${rounds} rounds of ${roundMs / 1_000} s in turns`,
  );
  console.table(
    Object.keys(results).map((name) => ({
      "keyed requests": name,
      "p50 ms": of(name, "p50").toFixed(2),
      "p95 ms": of(name, "p95").toFixed(2),
      "p99 ms": of(name, "p99").toFixed(2),
      "max ms": of(name, "max").toFixed(1),
      refused: of(name, "refused"),
    })),
  );
  const [alone = "", loaded = ""] = Object.keys(results);
  report.atMost("p99 beside sign-ins, of that alone", of(loaded, "p99") / of(alone, "p99"), "×", mostTimes);
  report.also("p99 alone", of(alone, "p99"), "ms");
  report.also("p99 beside sign-ins", of(loaded, "p99"), "ms");
  report.also("sign-ins", logins.answered / logins.seconds, "a second");
  report.also("a sign-in's CPU", logins.cpuMs / Math.max(1, logins.answered), "ms");
  console.log(`p99 with sign-ins is ${(of(loaded, "p99") / of(alone, "p99")).toFixed(2)} times that alone`);
  console.log(
    `${logins.answered} sign-ins answered (${(logins.answered / logins.seconds).toFixed(1)}/s), ${logins.busy} refused as too many; ` +
      `CPU of identity and its hashing ${(logins.cpuMs / Math.max(1, logins.answered)).toFixed(0)} ms each`,
  );
}

/**
 * Both sides of the load are separate processes, so that neither the other side nor the cluster's logs delay
 * measurements.
 */
function startedSide(script: "logins-probe" | "logins-client", args: string[]): ChildProcess {
  return fork(fileURLToPath(new URL(`./${script}.js`, import.meta.url)), args);
}

async function answerOf<T>(side: ChildProcess): Promise<T> {
  const [answer] = (await once(side, "message")) as [T];
  return answer;
}

function keyed(probe: ChildProcess, ms: number): Promise<ProbeRound> {
  const round = answerOf<ProbeRound>(probe);
  probe.send({ ms });
  return round;
}

/** CPU of a process and its children so far, from /proc (Linux). */
function cpuMs(pid: number): number {
  const own = (each: number) => {
    const fields = readFileSync(`/proc/${each}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return (Number(fields[11]) + Number(fields[12])) * 10;
  };
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  return [pid, ...children].reduce((sum, each) => sum + own(each), 0);
}

/** An API key of a new organization, made by the administrator with a second factor for that time only. */
async function newKey(url: string): Promise<string> {
  const first = await call(url, "/auth/login", null, { email, password });
  const token = String(first.accessToken);
  const { secret } = await call(url, "/auth/mfa/totp/setup", token, { password });
  const { recoveryCodes } = await call(url, "/auth/mfa/totp/enable", token, {
    code: new TOTP({ secret: Secret.fromBase32(String(secret)) }).generate(),
  });
  const partner = await call(url, "/orgs/partners", token, { name: "Bench", slug: `b-${randomUUID()}` });
  const wanted = { partnerId: partner.id, name: "Bench", slug: `b-${randomUUID()}` };
  const organization = await call(url, "/orgs/organizations", token, wanted);
  const fields = { orgId: organization.id, name: "Bench", scopes: ["devices:read"], rateLimit: 100_000 };
  let key: Body | null = null;
  // Identity receives the organization a moment later.
  for (const end = Date.now() + 10_000; key === null; ) {
    key = await call(url, "/api-keys", token, fields).catch((error: unknown) => {
      if (Date.now() > end) throw error;
      return null;
    });
  }
  await call(url, "/auth/mfa/totp/disable", token, { password, code: (recoveryCodes as string[])[0] });
  return String(key.key);
}

async function call(url: string, path: string, token: string | null, body: object): Promise<Body> {
  const headers = { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) };
  const reply = await fetch(`${url}/api/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const answer = (await reply.json()) as Body;
  if (!reply.ok) throw new Error(`POST ${path} answered ${reply.status}: ${JSON.stringify(answer)}`);
  return answer;
}
