import { randomBytes } from "node:crypto";
import { type Database, sql, type Tx } from "@muster/db";

/** An agent as gateways hold it. */
export type EdgeAgentRow = {
  device_id: string;
  org_id: string;
  partner_id: string;
  quarantined: boolean;
  version: number;
  /** The digest is that of a token handed out by a rotation, used for the first time now. */
  is_next: boolean;
  is_revoked: boolean;
  partner_status: string;
  org_status: string;
  /** Hostname of the device; null while unknown. */
  name: string | null;
};

/** A change as it is announced to gateways. */
export type AgentTokenRow = {
  device_id: string;
  org_id: string;
  partner_id: string;
  digest: Buffer;
  next_digest: Buffer | null;
  generation: number;
  quarantined: boolean;
  version: number;
  revoked_at: Date | null;
};

const columns = sql`device_id, org_id, partner_id, digest, next_digest, generation, quarantined, version, revoked_at`;

/** The agent with this digest, revoked ones included; called before authentication. */
export async function findAgentByDigest(db: Database, digest: Uint8Array): Promise<EdgeAgentRow | null> {
  const [row] = await db.read<EdgeAgentRow>(
    { caller: null },
    sql`SELECT device_id, org_id, partner_id, quarantined, version, is_next, is_revoked, partner_status, org_status, name
        FROM find_agent_token(${Buffer.from(digest)})`,
  );
  return row ?? null;
}

type NewAgentToken = {
  deviceId: string;
  orgId: string;
  partnerId: string;
  digest: Buffer;
  quarantined: boolean;
  name: string;
};

/** How long an agent whose reply was lost finds its device again. */
export const retryMinutes = 10;

/**
 * Issues a device its first token, or another one while none was used; false when one was used, or the device is
 * deleted. Until its first use a token is stored as the next one, beside a current one that was never issued
 * (generation 0).
 */
export async function issueAgentToken(tx: Tx, agent: NewAgentToken, now: Date): Promise<boolean> {
  const issued = await tx.execute(sql`
    INSERT INTO agent_tokens AS a (device_id, org_id, partner_id, digest, next_digest, generation, quarantined, name, created_at)
    VALUES (${agent.deviceId}, ${agent.orgId}, ${agent.partnerId}, ${randomBytes(32)}, ${agent.digest}, 0,
            ${agent.quarantined}, ${agent.name}, ${now})
    ON CONFLICT (device_id) DO UPDATE SET next_digest = excluded.next_digest, version = a.version + 1
    WHERE a.generation = 0 AND a.revoked_at IS NULL`);
  return issued === 1;
}

/**
 * The first of these ids that an enrollment may take: of no agent, or of one whose token was never used and whose
 * enrollment is recent.
 */
export async function firstFreeDevice(tx: Tx, deviceIds: readonly string[]): Promise<string | null> {
  const [row] = await tx.query<{ id: string }>(sql`
    SELECT w.id FROM unnest(${[...deviceIds]}::uuid[]) WITH ORDINALITY AS w (id, n)
    LEFT JOIN agent_tokens a ON a.device_id = w.id
    WHERE (a.device_id IS NULL OR (a.generation = 0 AND a.revoked_at IS NULL
                                   AND a.created_at > now() - make_interval(mins => ${retryMinutes})))
      AND NOT EXISTS (SELECT FROM enrollment_reservations r WHERE r.device_id = w.id AND r.given_up_at IS NOT NULL)
    ORDER BY w.n LIMIT 1`);
  return row?.id ?? null;
}

/** The token of a device, locked until the end of the transaction; null when none is visible. */
export async function lockAgentToken(tx: Tx, deviceId: string): Promise<AgentTokenRow | null> {
  const [row] = await tx.query<AgentTokenRow>(
    sql`SELECT ${columns} FROM agent_tokens WHERE device_id = ${deviceId}::uuid FOR UPDATE`,
  );
  return row ?? null;
}

/**
 * Stores a new token beside a locked one until either is used; an earlier one that was issued and never used becomes
 * void.
 */
export async function offerAgentToken(tx: Tx, deviceId: string, digest: Buffer): Promise<AgentTokenRow> {
  return written(
    tx,
    sql`UPDATE agent_tokens SET next_digest = ${digest}, version = version + 1
        WHERE device_id = ${deviceId}::uuid RETURNING ${columns}`,
  );
}

/** The token of a rotation replaces the locked one. */
export async function promoteAgentToken(tx: Tx, deviceId: string, now: Date): Promise<AgentTokenRow> {
  return written(
    tx,
    sql`UPDATE agent_tokens
        SET digest = next_digest, next_digest = NULL, generation = generation + 1, version = version + 1, rotated_at = ${now}
        WHERE device_id = ${deviceId}::uuid AND next_digest IS NOT NULL RETURNING ${columns}`,
  );
}

/** Ends the tokens of these devices permanently; returns the tokens that this call ended, in their current state. */
export function revokeAgentTokens(tx: Tx, deviceIds: readonly string[], now: Date): Promise<AgentTokenRow[]> {
  return tx.query<AgentTokenRow>(sql`
    UPDATE agent_tokens SET revoked_at = ${now}, version = version + 1
    WHERE device_id IN (SELECT device_id FROM agent_tokens WHERE device_id = ANY (${[...deviceIds]}::uuid[])
                        AND revoked_at IS NULL ORDER BY device_id FOR UPDATE)
    RETURNING ${columns}`);
}

export type DeviceState = {
  deviceId: string;
  version: number;
  quarantined: boolean;
  /** Empty in messages of a version that sends none. */
  hostname: string;
};

/** Applies newer device events; returns the rows that changed. */
export function setQuarantined(tx: Tx, states: readonly DeviceState[]): Promise<AgentTokenRow[]> {
  return tx.query<AgentTokenRow>(sql`
    WITH reported AS (
      SELECT * FROM unnest(${states.map((s) => s.deviceId)}::uuid[], ${states.map((s) => s.version)}::bigint[],
                           ${states.map((s) => s.quarantined)}::boolean[]) AS t (device_id, device_version, quarantined)
    )
    UPDATE agent_tokens a
    SET quarantined = reported.quarantined, device_version = reported.device_version, version = a.version + 1
    FROM reported
    WHERE a.device_id = reported.device_id AND a.device_version < reported.device_version AND a.quarantined <> reported.quarantined
    RETURNING a.device_id, a.org_id, a.partner_id, a.digest, a.next_digest, a.generation, a.quarantined, a.version,
              a.revoked_at`);
}

/** Applies the names of newer device events. Gateways learn them later: no right depends on a name. */
export async function setAgentNames(tx: Tx, states: readonly DeviceState[]): Promise<void> {
  await tx.execute(sql`
    UPDATE agent_tokens a SET name = reported.name, device_version = reported.device_version
    FROM unnest(${states.map((s) => s.deviceId)}::uuid[], ${states.map((s) => s.version)}::bigint[],
                ${states.map((s) => s.hostname)}::text[]) AS reported (device_id, device_version, name)
    WHERE a.device_id = reported.device_id AND a.device_version <= reported.device_version
      AND reported.name <> '' AND a.name IS DISTINCT FROM reported.name`);
}

async function written(tx: Tx, statement: ReturnType<typeof sql>): Promise<AgentTokenRow> {
  const [row] = await tx.query<AgentTokenRow>(statement);
  if (!row) throw new Error("an agent token that was locked has gone");
  return row;
}
