import { systemCaller } from "@muster/kit";
import type { Database } from "../client/database.ts";
import type { Who } from "../client/settings.ts";
import { sql } from "../client/statement.ts";
import type { Tx } from "../client/transaction.ts";

/** One request as its caller named it; `caller` is the actor's id, the only one whose rows a transaction sees. */
export type IdempotentRequest = { caller: string; rpc: string; key: string; sha256: Uint8Array };

export type StoredReply = { sha256: Buffer; reply: Buffer };

const keptHours = 24;
const chunkRows = 5_000;

/**
 * Takes the key for this transaction and returns null, or returns what was stored under it within 24 hours. Waits for
 * another transaction that holds the same key: its reply is returned once it commits, the key is free when it is
 * undone.
 */
export async function takeIdempotencyKey(tx: Tx, request: IdempotentRequest): Promise<StoredReply | null> {
  const { caller, rpc, key, sha256 } = request;
  const taken = await tx.execute(sql`
    insert into idempotency as held (caller, rpc, key, request_sha256) values (${caller}, ${rpc}, ${key}, ${sha256})
    on conflict (caller, rpc, key) do update set request_sha256 = excluded.request_sha256, reply = null, created_at = now()
    where held.created_at < now() - ${keptHours} * interval '1 hour'`);
  if (taken === 1) return null;
  const [row] = await tx.query<{ sha256: Buffer; reply: Buffer | null }>(sql`
    select request_sha256 as sha256, reply from idempotency where caller = ${caller} and rpc = ${rpc} and key = ${key}`);
  if (!row?.reply) throw new Error(`an idempotency key of ${rpc} was committed without its reply`);
  return { sha256: row.sha256, reply: row.reply };
}

/** The reply stored under the key within 24 hours; null otherwise. Takes no lock and does not wait. */
export async function storedReply(db: Database, who: Who, request: IdempotentRequest): Promise<StoredReply | null> {
  const { caller, rpc, key } = request;
  const [row] = await db.read<StoredReply>(
    who,
    sql`
    select request_sha256 as sha256, reply from idempotency
    where caller = ${caller} and rpc = ${rpc} and key = ${key} and reply is not null
      and created_at >= now() - ${keptHours} * interval '1 hour'`,
  );
  return row ?? null;
}

/** Stores the reply under a key that this transaction took. */
export async function storeReply(tx: Tx, request: IdempotentRequest, reply: Uint8Array): Promise<void> {
  const { caller, rpc, key } = request;
  const stored = await tx.execute(sql`
    update idempotency set reply = ${reply} where caller = ${caller} and rpc = ${rpc} and key = ${key}`);
  if (stored !== 1)
    throw new Error(`an idempotency key of ${rpc} was not held by the transaction that stores its reply`);
}

/** Deletes replies older than 24 hours, in chunks; returns their number. */
export async function removeExpiredReplies(db: Database): Promise<number> {
  const who = { caller: systemCaller(db.name) };
  for (let removed = 0; ; ) {
    const rows = await db.tx(who, (tx) =>
      tx.execute(sql`
        delete from idempotency where (caller, rpc, key) in (
          select caller, rpc, key from idempotency where created_at < now() - ${keptHours} * interval '1 hour'
          order by created_at limit ${chunkRows} for update skip locked)`),
    );
    removed += rows;
    if (rows < chunkRows) return removed;
  }
}
