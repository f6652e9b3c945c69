import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type RunningStack, startStack } from "@muster/local";
import { administrator, type Call, callAt, newOrganization, password } from "./administrator.ts";
import type { Report } from "./report.ts";

const clientsPerGateway = 2;
/** Requests that must have been made after the answer before a trial ends. */
const requestsAfter = 24;
const stoppedEvery = 50;
const natsEvery = 100;

type Credential = {
  headers: Record<string, string>;
  end(): Promise<void>;
  /** Whether a client's sign-in that was approved before still completes. */
  completes?(): Promise<boolean>;
};
type Tally = { trials: number; requests: number; "admitted after the answer": number; tookMs: number[] };

/**
 * `npm run bench -- revocations [trials]`: two gateways under load; a key is revoked or rotated, a principal disabled,
 * a session logged out, a user deactivated by a directory; of the last two a client's sign-in was approved before
 * (2,000 trials when not said, 10,000 at most). A request that starts after the answer and is admitted is a failure,
 * and so is such a sign-in that completes. In one of 50 a gateway is stopped (SIGSTOP) during the call and resumed, in
 * one of 100 NATS is killed before it.
 */
export async function run(args: string[], report: Report): Promise<void> {
  const trials = Math.min(Number(args[0] ?? 2_000), 10_000);
  const running = await startStack({
    adminPassword: password,
    env: {
      MUSTER_REPLICAS: "gateway=2",
      PASSWORD_SCRYPT_LOG_N: "10",
      SESSION_RATE_LIMIT: "100000000",
      LOGIN_FAILURES_PER_ADDRESS: "1000000",
      DEVICE_AUTHORIZATIONS_PER_ADDRESS: "1000000",
    },
  });
  try {
    const gateways = running.stack.gateways.map(({ url }) => url);
    const root = await administrator(gateways[0] as string);
    const { orgId } = await newOrganization(root);
    const user = await newUser(root, gateways[0] as string, orgId);
    const scim = await directoryIn(root, gateways[0] as string, orgId);
    const makers: Record<string, () => Promise<Credential>> = {
      revoke: () => revocable(root, orgId),
      rotate: () => rotatable(root, orgId),
      disable: () => disableable(root, orgId),
      logout: () => session(gateways[0] as string, user),
      directory: () => deactivatable(root, gateways[0] as string, orgId, scim),
    };
    const tallies = new Map<string, Tally>();
    for (let i = 0; i < trials; i++) {
      const kinds = Object.keys(makers);
      const kind = kinds[i % kinds.length] as string;
      const fault = i % natsEvery === natsEvery - 1 ? "NATS away" : i % stoppedEvery === 0 ? "gateway stopped" : "";
      const credential = await (makers[kind] as () => Promise<Credential>)();
      const outcome = await trial(running, gateways, credential, fault);
      const name = fault === "" ? kind : fault;
      const tally = tallies.get(name) ?? { trials: 0, requests: 0, "admitted after the answer": 0, tookMs: [] };
      tally.trials++;
      tally.requests += outcome.requests;
      tally["admitted after the answer"] += outcome.late;
      tally.tookMs.push(outcome.tookMs);
      tallies.set(name, tally);
    }
    print(tallies);
    const sum = (of: (tally: Tally) => number) => [...tallies.values()].reduce((total, tally) => total + of(tally), 0);
    report.none({ "requests admitted after the answer": sum((tally) => tally["admitted after the answer"]) });
    report.also(
      "trials",
      sum((tally) => tally.trials),
      "",
    );
    report.also(
      "requests",
      sum((tally) => tally.requests),
      "",
    );
    for (const [kind, { tookMs }] of tallies) report.also(`${kind}, at most`, Math.max(...tookMs), "ms");
    if ([...tallies.values()].some((tally) => tally["admitted after the answer"] > 0)) process.exitCode = 1;
  } finally {
    await running.stop();
  }
}

/**
 * Loads every gateway with the credential, ends it, and counts requests that started after the answer and were
 * admitted.
 */
async function trial(running: RunningStack, gateways: readonly string[], credential: Credential, fault: string) {
  const starts: number[] = [];
  let requests = 0;
  let going = true;
  const clients = gateways.flatMap((url) =>
    Array.from({ length: clientsPerGateway }, async () => {
      while (going) {
        const startedMs = performance.now();
        const reply = await fetch(`${url}/api/v1/auth/me`, { headers: credential.headers });
        await reply.arrayBuffer();
        requests++;
        if (reply.status === 200) starts.push(startedMs);
      }
    }),
  );
  const untilAnswered = async (count: number) => {
    while (requests < count) await delay(1);
  };
  await untilAnswered(8);
  const stopped = fault === "gateway stopped" ? running.stack.gateways[1]?.pid : null;
  if (stopped) process.kill(stopped, "SIGSTOP");
  if (fault === "NATS away") process.kill(running.refresh().nats?.pid ?? 0, "SIGKILL");
  const revokedMs = performance.now();
  await credential.end().finally(() => stopped && process.kill(stopped, "SIGCONT"));
  const answeredMs = performance.now();
  await untilAnswered(requests + requestsAfter);
  going = false;
  await Promise.all(clients);
  const completed = (await credential.completes?.()) ? 1 : 0;
  const late = starts.filter((ms) => ms > answeredMs).length + completed;
  return { requests, late, tookMs: answeredMs - revokedMs };
}

const done = async (call: Promise<{ status: number; body: unknown }>) => {
  const { status, body } = await call;
  if (status >= 300) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return body as Record<string, unknown>;
};
const ended = async (call: Promise<{ status: number; body: unknown }>) => void (await done(call));

async function revocable(root: Call, orgId: string): Promise<Credential> {
  const made = await done(root("POST", "/api-keys", { orgId, name: "Trial", rateLimit: 100_000 }));
  return { headers: { "x-api-key": String(made.key) }, end: () => ended(root("DELETE", `/api-keys/${made.id}`)) };
}

async function rotatable(root: Call, orgId: string): Promise<Credential> {
  const made = await done(root("POST", "/api-keys", { orgId, name: "Trial", rateLimit: 100_000 }));
  return { headers: { "x-api-key": String(made.key) }, end: () => ended(root("POST", `/api-keys/${made.id}/rotate`)) };
}

async function disableable(root: Call, orgId: string): Promise<Credential> {
  const made = await done(root("POST", "/service-principals", { orgId, name: "Trial", scopes: [] }));
  const { key } = made as unknown as { key: string };
  const end = () => ended(root("POST", `/service-principals/${made.id}/disable`));
  return { headers: { "x-api-key": key }, end };
}

type User = { email: string; password: string };

async function newUser(root: Call, url: string, orgId: string): Promise<User> {
  const email = `trial-${randomUUID().slice(0, 8)}@example.com`;
  const roles = (await done(root("GET", "/roles"))).data as { id: string; key: string }[];
  const roleId = roles.find(({ key }) => key === "org-viewer")?.id;
  const { inviteUrl } = await done(root("POST", "/users", { email, name: "Trial", orgId, roleId }));
  const token = new URLSearchParams(new URL(String(inviteUrl)).hash.slice(1)).get("token");
  await done(callAt(url, null, "POST", "/auth/accept-invite", { token, password }));
  return { email, password };
}

async function session(url: string, user: User): Promise<Credential> {
  const { accessToken } = await done(callAt(url, null, "POST", "/auth/login", user));
  const end = () => ended(callAt(url, String(accessToken), "POST", "/auth/logout", {}));
  const completes = await approvedClient(url, String(accessToken));
  return { headers: { authorization: `Bearer ${accessToken}` }, end, completes };
}

/** A client's sign-in that this session has approved and nobody has completed; tells whether it still completes. */
async function approvedClient(url: string, accessToken: string): Promise<() => Promise<boolean>> {
  const { deviceCode, userCode } = await done(callAt(url, null, "POST", "/auth/device", { clientName: "Trial" }));
  await done(callAt(url, accessToken, "POST", "/auth/device/approve", { userCode }));
  return async () => (await callAt(url, null, "POST", "/auth/device/token", { deviceCode })).status === 200;
}

type Scim = (method: string, path: string, body: object) => Promise<Record<string, unknown>>;

/** A directory whose users are viewers. */
async function directoryIn(root: Call, url: string, orgId: string): Promise<Scim> {
  const roles = (await done(root("GET", "/roles"))).data as { id: string; key: string }[];
  const defaultRoleId = roles.find(({ key }) => key === "org-viewer")?.id;
  const { token } = await done(root("POST", "/directories", { orgId, name: "Trials", defaultRoleId }));
  return (method, path, body) => done(callAt(url, String(token), method, `/scim/v2${path}`, body));
}

/** A signed-in user of a directory, whom it deactivates. */
async function deactivatable(root: Call, url: string, orgId: string, scim: Scim): Promise<Credential> {
  const user = await newUser(root, url, orgId);
  const { id } = await scim("POST", "/Users", { userName: user.email });
  const { headers, completes } = await session(url, user);
  const Operations = [{ op: "Replace", path: "active", value: "False" }];
  const end = async () => void (await scim("PATCH", `/Users/${id}`, { Operations }));
  return { headers, end, ...(completes ? { completes } : {}) };
}

function print(tallies: Map<string, Tally>): void {
  const rows = [...tallies].map(([kind, { tookMs, ...counts }]) => {
    const sorted = tookMs.sort((a, b) => a - b);
    const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0);
    return { kind, ...counts, "p50 ms": at(0.5), "p99 ms": at(0.99), "max ms": Math.round(sorted.at(-1) ?? 0) };
  });
  console.table(rows);
}
