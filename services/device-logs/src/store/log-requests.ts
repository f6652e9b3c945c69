import { type Database, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";
import { type LogRequest, sameRequest } from "../rules/log-request.ts";
import type { Owner } from "./logs.ts";

/** A request, and whose it is. */
export type OwnedRequest = { owner: Owner; request: LogRequest };

/** `new`: this transaction stores its entries. `repeat`: they are stored. `conflict`: its key is another body's. */
export type Taken = "new" | "repeat" | "conflict";

const chunkRows = 5_000;

/**
 * Takes requests for this transaction, and returns for each what it is. Waits for another transaction that takes one of
 * them; in a fixed order, so that two that take the same never deadlock.
 */
export async function takeRequests(tx: Tx, wanted: readonly OwnedRequest[]): Promise<Taken[]> {
  const keyOf = ({ owner, request }: OwnedRequest) => sameRequest(owner.deviceId, request);
  // One statement cannot take a row twice: repeats in the same batch are distinguished here.
  const first = new Map<string, OwnedRequest>();
  for (const one of wanted) if (!first.has(keyOf(one))) first.set(keyOf(one), one);
  const firsts = [...first.values()];
  const rows = await tx.query<Row>(sql`
    INSERT INTO agent_log_request AS held (device_id, org_id, partner_id, request, body_sha256, expires_at)
    SELECT r.device_id, r.org_id, r.partner_id, r.request, r.body, now() + r.minutes * interval '1 minute'
    FROM unnest(
      ${firsts.map(({ owner }) => owner.deviceId)}::uuid[], ${firsts.map(({ owner }) => owner.orgId)}::uuid[],
      ${firsts.map(({ owner }) => owner.partnerId)}::uuid[], ${firsts.map(({ request }) => request.id)}::bytea[],
      ${firsts.map(({ request }) => request.bodySha256)}::bytea[],
      ${firsts.map(({ request }) => request.keptMinutes)}::int[])
      AS r (device_id, org_id, partner_id, request, body, minutes)
    ORDER BY r.device_id, r.request
    ON CONFLICT (device_id, request) DO UPDATE SET body_sha256 = excluded.body_sha256, expires_at = excluded.expires_at
    WHERE held.expires_at < now()
    RETURNING device_id, request, body_sha256`);
  const taken = new Set(rows.map(nameOf));
  const others = firsts.filter((one) => !taken.has(keyOf(one)));
  const bodies = new Map([...rows, ...(await heldRequests(tx, others))].map((row) => [nameOf(row), row.body_sha256]));
  return wanted.map((one) => {
    const key = keyOf(one);
    if (!bodies.get(key)?.equals(one.request.bodySha256)) return "conflict";
    return taken.delete(key) ? "new" : "repeat";
  });
}

type Row = { device_id: string; request: Buffer; body_sha256: Buffer };
const nameOf = ({ device_id, request }: Row) => `${device_id} ${request.toString("base64")}`;

/** Committed requests that others have taken. */
async function heldRequests(tx: Tx, wanted: readonly OwnedRequest[]): Promise<Row[]> {
  if (wanted.length === 0) return [];
  return tx.query<Row>(sql`
    SELECT h.device_id, h.request, h.body_sha256
    FROM unnest(${wanted.map(({ owner }) => owner.deviceId)}::uuid[], ${wanted.map(({ request }) => request.id)}::bytea[])
      AS w (device_id, request)
    JOIN agent_log_request h USING (device_id, request)`);
}

/** Deletes requests whose repeats are no longer recognised, in chunks while `go` agrees; returns their number. */
export async function removeExpiredRequests(db: Database, go: () => boolean): Promise<number> {
  for (let removed = 0; ; ) {
    const rows = await db.inOneBatch({ caller: systemCaller("device-logs") }, (tx) =>
      tx.execute(sql`
        DELETE FROM agent_log_request WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM agent_log_request WHERE expires_at < now() LIMIT ${chunkRows} FOR UPDATE SKIP LOCKED))`),
    );
    removed += rows;
    if (rows < chunkRows || !go()) return removed;
  }
}
