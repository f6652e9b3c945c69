import { createHash, randomBytes, randomUUID } from "node:crypto";
import pg from "pg";
import type { Call } from "./administrator.ts";
import { callAt } from "./administrator.ts";

export type BenchAgent = { id: string; token: string };

/** Enrolls agents with one key, a few at a time, as machines do. */
export async function enrollFleet(root: Call, url: string, orgId: string, count: number): Promise<BenchAgent[]> {
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const made = await root("POST", "/enrollment-keys", { orgId, name: "Bench", maxUsage: count, expiresAt });
  if (made.status !== 201) throw new Error(`POST /enrollment-keys answered ${made.status}`);
  const agents: BenchAgent[] = [];
  const enroll = async () => {
    const machine = {
      hostname: `bench-${randomUUID().slice(0, 8)}`,
      os: "linux",
      arch: "amd64",
      agentVersion: "1.0.0",
    };
    const { status, body } = await callAt(url, null, "POST", "/agents/enroll", {
      enrollmentKey: made.body.key,
      ...machine,
    });
    if (status !== 201) throw new Error(`POST /agents/enroll answered ${status}: ${JSON.stringify(body)}`);
    agents.push({ id: String(body.agentId), token: String(body.token) });
  };
  for (let at = 0; at < count; at += 8) await Promise.all(Array.from({ length: Math.min(8, count - at) }, enroll));
  return agents;
}

/** Tokens of agents whose devices no other part needs: thousands at once, written directly to identity's table. */
export async function tokensOnly(
  databaseUrl: string,
  { orgId, partnerId }: { orgId: string; partnerId: string },
  count: number,
): Promise<BenchAgent[]> {
  const agents = Array.from({ length: count }, () => ({
    id: randomUUID(),
    token: `agt_${randomBytes(32).toString("base64url")}`,
  }));
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(
      `INSERT INTO identity.agent_tokens (device_id, org_id, partner_id, digest, created_at)
       SELECT id, $3, $4, digest, now() FROM unnest($1::uuid[], $2::bytea[]) AS a (id, digest)`,
      [
        agents.map(({ id }) => id),
        agents.map(({ token }) => createHash("sha256").update(token).digest()),
        orgId,
        partnerId,
      ],
    );
  } finally {
    await client.end();
  }
  return agents;
}

/** The value at a share of sorted numbers. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
