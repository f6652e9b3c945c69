import { randomInt, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type RunningStack, startStack } from "@muster/local";
import pg from "pg";
import { administrator, type Call, callAt, newOrganization, password } from "./administrator.ts";
import type { Report } from "./report.ts";

const clients = 8;
const usesPerKey = 20;
const reservationSeconds = 5;
/** Half of the machines give up when the reply is lost, the other half come back until they are in. */
const comesBackShare = 0.5;

type Trial = { agentId: string; token: string };

/**
 * `npm run bench -- enrollments [kills]`: agents enroll while identity, tenancy or the gateway is killed −9, within a
 * second after the next enrollment came through (20 kills when not said, 500 at most), at whatever step they are. Then:
 * no living device without a token, no use taken that is not confirmed, `usageCount` of each key = its living devices,
 * one `device.create` audit row of each, and every token that was handed out and not requested again works. Ends with
 * status 1 otherwise.
 */
export async function run(args: string[], report: Report): Promise<void> {
  const kills = Math.min(Number(args[0] ?? 20), 500);
  const running = await startStack({
    adminPassword: password,
    env: { PASSWORD_SCRYPT_LOG_N: "10", ENROLLMENT_RESERVATION_SECONDS: String(reservationSeconds) },
  });
  const database = new pg.Client({ connectionString: running.stack.databaseUrl });
  try {
    await database.connect();
    const url = running.stack.gateways[0]?.url ?? "";
    const root = await administrator(url);
    const { orgId } = await newOrganization(root);
    const load = startLoad(url, root, orgId);
    const killed: Record<string, number> = {};
    for (let done = 0; done < kills; ) {
      // A cluster that is down anyway cannot be hit in the middle of an enrollment.
      await load.oneMore();
      await delay(randomInt(0, 1_000));
      const name = killOne(running);
      if (name === null) continue;
      done += 1;
      killed[name] = (killed[name] ?? 0) + 1;
    }
    const { enrolled, attempts } = await load.stop();
    const facts = await settled(database, orgId);
    let silent = 0;
    for (const { agentId, token } of enrolled) {
      const reply = await again(() =>
        callAt(url, token, "POST", `/agents/${agentId}/heartbeat`, { agentVersion: "1.0.0" }),
      );
      if (reply.status !== 200) silent += 1;
    }
    console.log(`killed: ${JSON.stringify(killed)}`);
    console.table([{ kills, attempts, enrolled: enrolled.length, ...facts, "tokens that do not work": silent }]);
    report.none({
      "devices without a token": facts["devices without a token"],
      "uses burnt": facts["uses burnt"],
      "usageCount wrong": facts["usageCount wrong"],
      "not audited once": facts["not audited once"],
      "tokens that do not work": silent,
    });
    report.also("kills", kills, "");
    report.also("attempts", attempts, "");
    report.also("enrolled", enrolled.length, "");
    report.also("devices", facts.devices, "");
    report.also("devices taken back", facts["taken back"], "");
    const wrong =
      facts["devices without a token"] + facts["uses burnt"] + facts["usageCount wrong"] + facts["not audited once"];
    if (wrong + silent > 0) process.exitCode = 1;
  } finally {
    await database.end();
    await running.stop();
  }
}

/** The process that was killed, or null when it was down. */
function killOne(running: RunningStack): string | null {
  const { services, gateways } = running.refresh();
  const pids: [string, number | null | undefined][] = [
    ["identity", services.identity?.pid],
    ["tenancy", services.tenancy?.pid],
    ["gateway", gateways[0]?.pid],
  ];
  const [name, pid] = pids[randomInt(pids.length)] as [string, number | null | undefined];
  if (!pid) return null;
  try {
    process.kill(pid, "SIGKILL");
    return name;
  } catch {
    return null;
  }
}

/** Tries until there is an answer that is none of a cluster in trouble. */
async function again<T extends { status: number }>(attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    const reply = await attempt().catch(() => null);
    if (reply !== null && reply.status < 500 && reply.status !== 429) return reply;
    await delay(100);
  }
}

function startLoad(url: string, root: Call, orgId: string) {
  const enrolled: Trial[] = [];
  let attempts = 0;
  let going = true;
  const client = async () => {
    while (going) {
      const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
      const wanted = { orgId, name: "Chaos", maxUsage: usesPerKey, expiresAt };
      const { body } = await again(() => root("POST", "/enrollment-keys", wanted));
      for (let i = 0; going && i < usesPerKey / 2; i++) {
        const comesBack = Math.random() < comesBackShare;
        const machine = {
          hostname: "chaos",
          os: "linux",
          arch: "amd64",
          agentVersion: "1.0.0",
          hardwareId: randomUUID(),
        };
        const enroll = () => {
          attempts++;
          return callAt(url, null, "POST", "/agents/enroll", { enrollmentKey: body.key, ...machine });
        };
        const reply = comesBack ? await again(enroll) : await enroll().catch(() => null);
        if (reply?.status === 201)
          enrolled.push({ agentId: String(reply.body.agentId), token: String(reply.body.token) });
        await delay(20);
      }
    }
  };
  const all = Promise.all(Array.from({ length: clients }, client));
  return {
    /** Resolves after the next enrollment that succeeds, or half a minute. */
    async oneMore() {
      const before = enrolled.length;
      for (let tries = 0; tries < 600 && enrolled.length === before; tries++) await delay(50);
    },
    async stop() {
      going = false;
      await all;
      return { enrolled, attempts };
    },
  };
}

/** The facts once the sweeper has been by and the audit trail holds every device. */
async function settled(database: pg.Client, orgId: string) {
  const count = async (text: string) => Number((await database.query<{ n: string }>(text, [orgId])).rows[0]?.n);
  const open = `SELECT count(*) AS n FROM identity.enrollment_reservations r JOIN identity.enrollment_keys k ON k.id = r.key_id
                WHERE k.org_id = $1 AND r.confirmed_at IS NULL`;
  const unaudited = `SELECT count(*) AS n FROM tenancy.devices d WHERE d.org_id = $1 AND 1 <> (
                       SELECT count(*) FROM audit.audit_log l WHERE l.action = 'device.create' AND l.resource_id::text = d.id::text)`;
  for (let tries = 0; tries < 600 && (await count(open)) + (await count(unaudited)) > 0; tries++) await delay(100);
  return {
    devices: await count("SELECT count(*) AS n FROM tenancy.devices WHERE org_id = $1 AND status <> 'decommissioned'"),
    "taken back": await count(
      "SELECT count(*) AS n FROM tenancy.devices WHERE org_id = $1 AND status = 'decommissioned'",
    ),
    "devices without a token": await count(
      `SELECT count(*) AS n FROM tenancy.devices d WHERE d.org_id = $1 AND d.status <> 'decommissioned' AND NOT EXISTS (
         SELECT FROM identity.agent_tokens a WHERE a.device_id = d.id AND a.revoked_at IS NULL)`,
    ),
    "uses burnt": await count(
      "SELECT coalesce(sum(usage_count - confirmed_count), 0) AS n FROM identity.enrollment_keys WHERE org_id = $1",
    ),
    "usageCount wrong": await count(
      `SELECT count(*) AS n FROM identity.enrollment_keys k WHERE k.org_id = $1 AND k.confirmed_count <> (
         SELECT count(*) FROM identity.enrollment_reservations r JOIN tenancy.devices d ON d.id = r.device_id
         WHERE r.key_id = k.id AND r.confirmed_at IS NOT NULL AND d.status <> 'decommissioned')`,
    ),
    "not audited once": await count(unaudited),
  };
}
