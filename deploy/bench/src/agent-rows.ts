import { createHash, randomBytes, randomUUID } from "node:crypto";
import pg from "pg";

export type Agent = { id: string; orgId: string; token: string };

/** Devices with tokens written straight into the databases: as if they had enrolled and spoken before. */
export async function insertAgents(
  databaseUrl: string,
  owners: readonly { partnerId: string; orgId: string }[],
  count: number,
): Promise<Agent[]> {
  const agents = Array.from({ length: count }, (_, n) => {
    const owner = owners[n % owners.length] as { partnerId: string; orgId: string };
    return { id: randomUUID(), token: `agt_${randomBytes(32).toString("base64url")}`, ...owner };
  });
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const ids = agents.map(({ id }) => id);
    const orgs = agents.map(({ orgId }) => orgId);
    const partners = agents.map(({ partnerId }) => partnerId);
    const digests = agents.map(({ token }) => createHash("sha256").update(token).digest());
    await client.query(
      `INSERT INTO tenancy.devices (id, org_id, partner_id, hostname, os, arch, agent_version, status, created_at, updated_at)
       SELECT id, org, partner, 'bench', 'linux', 'amd64', '1.0.0', 'offline', now(), now()
       FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS t (id, org, partner)`,
      [ids, orgs, partners],
    );
    await client.query(
      `INSERT INTO identity.agent_tokens (device_id, org_id, partner_id, digest, created_at)
       SELECT id, org, partner, digest, now()
       FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bytea[]) AS t (id, org, partner, digest)`,
      [ids, orgs, partners, digests],
    );
    await client.query("ANALYZE tenancy.devices");
    await client.query("ANALYZE identity.agent_tokens");
  } finally {
    await client.end();
  }
  return agents;
}
