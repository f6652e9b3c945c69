import { type Database, sql, type Tx } from "@muster/db";
import { systemCaller } from "@muster/kit";
import {
  type Counts,
  type Grant,
  giveBack,
  grant,
  needsBetween,
  type RateWindow,
  slotMs,
  slots,
  type Want,
} from "../rules/rate-window.ts";

export type CredentialRef = { kind: "key" | "session" | "agent" | "directory"; id: string };
export type GrantedTo = Omit<Grant, "window"> & CredentialRef;

export type Use = CredentialRef & {
  slot: number;
  unspent: number;
  used: number;
  lastUsedAt: Date;
  generation: number;
};

type WindowRow = CredentialRef & {
  leaving: number[];
  between_used: number | string;
  between_from: number | null;
  recent: number[];
  lent_until: Date | number;
};

const who = { caller: systemCaller("identity") };
const refKey = ({ kind, id }: CredentialRef) => `${kind}/${id}`;

/**
 * Grants each credential the rest of its window (rules/rate-window.ts), all in one transaction on the database's clock.
 * `wants` holds a credential at most once.
 */
export async function reserve(
  db: Database,
  wants: readonly (CredentialRef & Want)[],
): Promise<{ grants: GrantedTo[]; now: Date }> {
  return db.tx(
    who,
    async (tx) => {
      // Pipelined, in a fixed lock order: two transactions that lock the same rows never deadlock.
      const made = tx.execute(sql`
        INSERT INTO rate_hours (kind, id) SELECT kind, id FROM ${refs(wants)} ORDER BY kind, id ON CONFLICT DO NOTHING`);
      const locking = lockWindows(tx, wants);
      const clock = tx.query<{ now: Date }>(sql`SELECT clock_timestamp() AS now`);
      const [, windows, [time]] = await Promise.all([made, locking, clock]);
      const { now } = time as { now: Date };
      await loadBetween(tx, windows, now);
      const granted = wants.map((want) => {
        const window = windows.get(refKey(want));
        if (!window) throw new Error("a rate window that was made is not there");
        return { kind: want.kind, id: want.id, ...grant(window, want, now.getTime()) };
      });
      await writeWindows(tx, granted);
      return { grants: granted.map(({ window: _, ...rest }) => rest), now };
    },
    { retry: true },
  );
}

/**
 * Applies a gateway's settlement once: unspent grants are returned to their windows, use is added to the keys. Returns
 * the use of keys that others hold locked, which is not added: to wait for one tenant's key would hold the gateway's
 * lease and the windows of every other credential.
 */
export async function settle(
  db: Database,
  gatewayId: string,
  sequence: number,
  uses: readonly Use[],
): Promise<readonly Use[]> {
  return db.tx(
    who,
    async (tx) => {
      const ofKeys = uses.filter((use) => use.kind === "key" && use.used > 0);
      const free = await lockFreeKeys(tx, ofKeys);
      if (!(await noteSettlement(tx, gatewayId, sequence))) return [];
      const unspent = uses.filter((use) => use.unspent > 0);
      if (unspent.length > 0) {
        const windows = await lockWindows(tx, unspent);
        for (const use of unspent) {
          const window = windows.get(refKey(use));
          if (window) windows.set(refKey(use), giveBack(window, use.slot, use.unspent));
        }
        await writeWindows(
          tx,
          unspent.flatMap((use) => {
            const window = windows.get(refKey(use));
            return window ? [{ kind: use.kind, id: use.id, window }] : [];
          }),
        );
      }
      await countUse(
        tx,
        ofKeys.filter(({ id }) => free.has(id)),
      );
      return ofKeys.filter(({ id }) => !free.has(id));
    },
    { retry: true },
  );
}

/** Adds use to keys, and waits for their locks. */
export function addUse(db: Database, uses: readonly Use[]): Promise<void> {
  return db.tx(who, (tx) => countUse(tx, uses), { retry: true });
}

async function lockFreeKeys(tx: Tx, uses: readonly Use[]): Promise<ReadonlySet<string>> {
  if (uses.length === 0) return new Set();
  const rows = await tx.query<{ id: string }>(sql`
    SELECT id FROM api_keys WHERE id = ANY (${uses.map(({ id }) => id)}::uuid[]) ORDER BY id FOR UPDATE SKIP LOCKED`);
  return new Set(rows.map(({ id }) => id));
}

/** Slots per minute, in which rows are found that have been idle. */
const minuteSlots = 60_000 / slotMs;

/** Removes up to `limit` windows in which nothing is counted any more; returns their number. */
export async function removeIdleWindows(db: Database, limit: number): Promise<number> {
  return db.inOneBatch(who, (tx) =>
    tx.execute(sql`
      DELETE FROM rate_hours w USING (
        SELECT kind, id FROM rate_hours
        WHERE last_minute < floor(extract(epoch FROM clock_timestamp()) / 60)::bigint - ${Math.ceil((2 * slots) / minuteSlots)}
        ORDER BY last_minute LIMIT ${limit} FOR UPDATE SKIP LOCKED) idle
      WHERE w.kind = idle.kind AND w.id = idle.id`),
  );
}

async function lockWindows(tx: Tx, wanted: readonly CredentialRef[]): Promise<Map<string, RateWindow>> {
  const rows = await tx.query<WindowRow>(sql`
    SELECT w.kind, w.id, w.leaving, w.between_used, w.between_from, w.recent, w.lent_until
    FROM rate_hours w JOIN ${refs(wanted)} ON w.kind = refs.kind AND w.id = refs.id
    ORDER BY w.kind, w.id FOR UPDATE OF w`);
  return new Map(
    rows.map((row) => [
      refKey(row),
      {
        leaving: row.leaving,
        between: null,
        betweenUsed: Number(row.between_used),
        betweenFrom: row.between_from,
        recent: row.recent,
        lentUntilMs: Number(row.lent_until),
      },
    ]),
  );
}

/** Adds the slots between where they are needed: for each credential once a minute at most. */
async function loadBetween(tx: Tx, windows: Map<string, RateWindow>, now: Date): Promise<void> {
  const needed = [...windows].filter(([, window]) => needsBetween(window, now.getTime())).map(([key]) => refOf(key));
  if (needed.length === 0) return;
  const rows = await tx.query<CredentialRef & { between: number[] }>(sql`
    SELECT w.kind, w.id, w.between_slots AS between
    FROM rate_hours w JOIN ${refs(needed)} ON w.kind = refs.kind AND w.id = refs.id`);
  for (const row of rows) {
    const window = windows.get(refKey(row));
    if (window) windows.set(refKey(row), { ...window, between: row.between });
  }
}

async function writeWindows(tx: Tx, windows: readonly (CredentialRef & { window: RateWindow })[]): Promise<void> {
  const last = new Map(windows.map((each) => [refKey(each), each]));
  const rows = [...last.values()];
  if (rows.length === 0) return;
  const lent = rows.map(({ window: { lentUntilMs } }) =>
    Number.isFinite(lentUntilMs) ? new Date(lentUntilMs).toISOString() : "-infinity",
  );
  // Slots between that did not change keep their place out of line: nothing of them is read or written.
  await tx.execute(sql`
    UPDATE rate_hours w
    SET leaving = g.leaving::integer[], between_slots = coalesce(g.between_slots::integer[], w.between_slots),
        between_used = g.between_used, between_from = g.between_from, recent = g.recent::integer[],
        lent_until = g.lent_until, last_minute = floor(extract(epoch FROM clock_timestamp()) / 60)::bigint
    FROM unnest(${rows.map((r) => r.kind)}::text[], ${rows.map((r) => r.id)}::uuid[],
                ${rows.map((r) => arrayText(r.window.leaving))}::text[],
                ${rows.map((r) => (r.window.between === null ? null : arrayText(r.window.between)))}::text[],
                ${rows.map((r) => r.window.betweenUsed)}::bigint[], ${rows.map((r) => r.window.betweenFrom)}::integer[],
                ${rows.map((r) => arrayText(r.window.recent))}::text[], ${lent}::timestamptz[])
         AS g (kind, id, leaving, between_slots, between_used, between_from, recent, lent_until)
    WHERE w.kind = g.kind AND w.id = g.id`);
}

const arrayText = (counts: Counts) => `{${counts.join(",")}}`;

function refOf(key: string): CredentialRef {
  const [kind = "", id = ""] = key.split("/");
  return { kind: kind as CredentialRef["kind"], id };
}

/** True the first time a gateway sends this number. */
async function noteSettlement(tx: Tx, gatewayId: string, sequence: number): Promise<boolean> {
  const noted = await tx.execute(sql`
    INSERT INTO gateways AS g (id, lease_until, settled) VALUES (${gatewayId}, '-infinity', ${sequence})
    ON CONFLICT (id) DO UPDATE SET settled = excluded.settled WHERE g.settled < excluded.settled`);
  return noted === 1;
}

/** Use of an older generation, before a rotation, is not counted. */
async function countUse(tx: Tx, uses: readonly Use[]): Promise<void> {
  if (uses.length === 0) return;
  await tx.execute(sql`
    WITH used AS (
      SELECT id, generation, sum(used) AS used, max(last_used_at) AS last_used_at
      FROM unnest(${uses.map((u) => u.id)}::uuid[], ${uses.map((u) => u.generation)}::integer[],
                  ${uses.map((u) => u.used)}::integer[], ${uses.map((u) => u.lastUsedAt)}::timestamptz[])
           AS g (id, generation, used, last_used_at)
      GROUP BY id, generation
    ), locked AS (
      SELECT k.id FROM api_keys k WHERE k.id IN (SELECT id FROM used) ORDER BY k.id FOR UPDATE
    )
    UPDATE api_keys k
    SET usage_count = k.usage_count + used.used,
        last_used_at = greatest(k.last_used_at, least(used.last_used_at, clock_timestamp()))
    FROM used JOIN locked USING (id)
    WHERE k.id = used.id AND k.generation = used.generation`);
}

const refs = (wanted: readonly CredentialRef[]) =>
  sql`unnest(${wanted.map((w) => w.kind)}::text[], ${wanted.map((w) => w.id)}::uuid[]) AS refs (kind, id)`;
