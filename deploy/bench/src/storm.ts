import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { startStack } from "@muster/local";
import { type Call, newAdministrator, password } from "./administrator.ts";
import { killOne } from "./kill-one.ts";
import type { Report } from "./report.ts";
import { whatIsWrong } from "./storm-copies.ts";
import {
  anyBody,
  anyPath,
  anyValue,
  type Document,
  happens,
  type Operation,
  oneOf,
  operationsOf,
  Records,
} from "./storm-operations.ts";

const callers = 12;
/** They end the session of the run, answer with another protocol or for minutes, or need other servers. */
const left = /\/auth\/|revoke-credentials|\/sso\/|sync-|download|export|channel$|changes$|follow$/;
/** Answers that say something of other servers: a device that is not connected. */
const elsewhere = new Set(["device_offline"]);

type Storm = { url: string; token: string; records: Records; agents: { id: string; token: string }[] };

/**
 * `npm run bench -- storm [seconds] [kills]`: twelve callers send every operation of the OpenAPI document in random
 * order to a few records that they share, many of which are being deleted, for 60 s when not said (600 at most);
 * `kills` processes (none, 50 at most) are killed −9 meanwhile. Then compares what the services hold. Ends with status
 * 1 after a deadlock, a difference, a lost message, or without kills a 5xx of our own.
 */
export async function run(args: string[], report: Report): Promise<void> {
  const seconds = Math.min(Number(args[0] ?? 60), 600);
  const kills = Math.min(Number(args[1] ?? 0), 50);
  const running = await startStack({ adminPassword: password, env: { PASSWORD_SCRYPT_LOG_N: "12" } });
  try {
    const url = running.stack.gateways[0]?.url ?? "";
    const { call, token } = await newAdministrator(url);
    const me = await call("GET", "/auth/me");
    const storm: Storm = { url, token, records: new Records(6, String(me.body.id)), agents: [] };
    const document = (await (await fetch(`${url}/api/v1/openapi.json`)).json()) as Document;
    const offered = operationsOf(document, left);
    const statuses = new Map<number, number>();
    const failures = new Map<string, number>();
    let going = true;
    const tenants = (async () => {
      for (; going; await delay(4_000)) await newTenant(call, storm.records).catch(() => null);
    })();
    const all = Array.from({ length: callers }, async () => {
      while (going) {
        const operation = chosen(offered.operations);
        const { status, code } = await send(storm, offered.resolve, operation);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        const name = `${operation.method} ${operation.path} ${status} ${code}`;
        if (status >= 500 && !elsewhere.has(code)) failures.set(name, (failures.get(name) ?? 0) + 1);
      }
    });
    const killed: string[] = [];
    const end = performance.now() + seconds * 1_000;
    while (killed.length < kills) {
      await delay((seconds * 1_000) / (kills + 1));
      killed.push(killOne(running, () => true));
    }
    await delay(Math.max(0, end - performance.now()));
    going = false;
    await Promise.all([...all, tenants]);
    console.log(`${offered.operations.length} operations; killed: ${killed.join(", ") || "nothing"}`);
    console.table([Object.fromEntries([...statuses].sort(([a], [b]) => a - b))]);
    if (kills === 0) for (const [name, times] of failures) console.log(`${times} × ${name}`);
    const wrong = await whatIsWrong(running.refresh().databaseUrl, 60_000);
    console.table([wrong]);
    report.none({
      ...wrong,
      ...(kills === 0 ? { "5xx of our own": [...failures.values()].reduce((a, b) => a + b, 0) } : {}),
    });
    report.also(
      "requests",
      [...statuses.values()].reduce((a, b) => a + b, 0),
      "",
    );
    report.also("kills", kills, "");
    const isWrong = Object.values(wrong).some((n) => n > 0) || (kills === 0 && failures.size > 0);
    if (isWrong) process.exitCode = 1;
  } finally {
    await running.stop();
  }
}

/** A partner with an organization, a site and a key with which devices enroll. */
async function newTenant(call: Call, records: Records): Promise<void> {
  const named = () => ({ name: "Storm", slug: `storm-${randomUUID()}` });
  const partnerId = String((await call("POST", "/orgs/partners", named())).body.id);
  records.add("partners", partnerId);
  const orgId = String((await call("POST", "/orgs/organizations", { partnerId, ...named() })).body.id);
  records.add("organizations", orgId);
  const siteId = String((await call("POST", "/orgs/sites", { orgId, name: "Storm" })).body.id);
  records.add("sites", siteId);
  const { body } = await call("POST", "/enrollment-keys", { orgId, siteId, name: "Storm", maxUsage: 1_000 });
  if (body.key) records.secrets.push(String(body.key));
  if (records.secrets.length > 6) records.secrets.shift();
}

/** What creates is chosen more often than what reads and what deletes. */
function chosen(operations: Operation[]): Operation {
  for (;;) {
    const operation = oneOf(operations) as Operation;
    const creates = operation.method === "POST" && !operation.path.includes("{");
    if (happens(creates ? 1 : operation.method === "GET" || operation.method === "DELETE" ? 0.25 : 0.6))
      return operation;
  }
}

async function send(
  { url, token, records, agents }: Storm,
  resolve: Parameters<typeof anyValue>[1],
  operation: Operation,
) {
  const agent = operation.path.includes("/agents/{id}") ? oneOf(agents) : undefined;
  const filters = operation.filters
    .filter(() => happens(0.1))
    .map(({ name, schema }): [string, string] => [name, String(anyValue(records, resolve, name, schema))]);
  const body = anyBody(records, resolve, operation, { url: "https://storm.invalid/hook", events: ["*"] });
  const path = `${anyPath(records, operation, agent?.id)}?${new URLSearchParams(filters)}`;
  const reply = await fetch(`${url}${path}`, {
    method: operation.method,
    headers: {
      authorization: `Bearer ${agent?.token ?? token}`,
      ...(body ? { "content-type": "application/json" } : {}),
      ...(happens(0.1) ? { "idempotency-key": `storm-${operation.path.length}` } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  }).catch(() => null);
  if (!reply) return { status: 0, code: "no answer" };
  const answer = await reply.json().catch(() => ({}));
  if (reply.ok) learn(records, agents, operation, answer as Answer);
  return { status: reply.status, code: String((answer as Answer).code ?? "") };
}

type Answer = {
  id?: string;
  code?: string;
  data?: { id?: string }[];
  deviceId?: string;
  authToken?: string;
  key?: string;
};

/** The ids of an answer: those of a list, of what was created, and the agent of an enrollment. */
function learn(records: Records, agents: Storm["agents"], { method, path }: Operation, answer: Answer): void {
  const kind = path.split("/").findLast((segment) => !segment.startsWith("{")) ?? "";
  if (answer.deviceId && answer.authToken) {
    records.add("devices", answer.deviceId);
    agents.push({ id: answer.deviceId, token: answer.authToken });
    if (agents.length > 8) agents.shift();
  } else if (method === "POST" && answer.id && !path.includes("{")) records.add(kind, answer.id);
  if (method !== "GET" || !Array.isArray(answer.data)) return;
  for (const { id } of answer.data.slice(0, 3)) if (id) records.add(kind, id);
}
