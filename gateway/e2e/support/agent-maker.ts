import { createHash, randomBytes } from "node:crypto";
import pg from "pg";
import type { Api } from "./client.ts";
import { api } from "./client.ts";
import type { Cluster } from "./cluster.ts";
import { enroller, type Tenant, type Wanted } from "./enroller.ts";
import { noteSecret } from "./handed-out.ts";

export type TestAgent = { deviceId: string; token: string; api: Api };

/** Makes devices with agents that have tokens, without the ceremony of enrollment keys. */
export async function agentMaker(cluster: Cluster): Promise<(tenant: Tenant, wanted?: Wanted) => Promise<TestAgent>> {
  const enroll = await enroller(cluster);
  return async ({ orgId, partnerId, siteId }, wanted = {}) => {
    const deviceId = await enroll(orgId, { siteId, ...wanted });
    const token = `agt_${randomBytes(32).toString("base64url")}`;
    noteSecret(cluster, { name: "agent token", value: token });
    const client = new pg.Client({ connectionString: (await cluster.stack()).databaseUrl });
    await client.connect();
    try {
      await client.query(
        "INSERT INTO identity.agent_tokens (device_id, org_id, partner_id, digest, created_at) VALUES ($1, $2, $3, $4, now())",
        [deviceId, orgId, partnerId, createHash("sha256").update(token).digest()],
      );
    } finally {
      await client.end();
    }
    return { deviceId, token, api: api(cluster, token) };
  };
}
