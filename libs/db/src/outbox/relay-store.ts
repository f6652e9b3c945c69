import { systemCaller } from "@muster/kit";
import { byIndexAlone } from "../client/by-index.ts";
import type { Database } from "../client/database.ts";
import { type Query, sql } from "../client/statement.ts";
import { deadLetterInsert } from "../tables/dead-letters.ts";

export type OutboxRow = { id: number; subject: string; msgId: string; body: Uint8Array; traceparent: string | null };

/** `fillsShare`: the last row that its partition may have in this batch. */
export type SharedRow = OutboxRow & { lane: string; fillsShare: boolean };

/** The position in a stream that a message was promised. */
export type StreamPosition = { stream: string; created: string; seq: number; msgId: string };

export type RelayStore = ReturnType<typeof relayStore>;

export const leaseMs = 5_000;
const keptMinutes = 10;
const chunkRows = 5_000;
const backlogCap = 100_000;
const longMs = 60_000;
/** Most partitions per batch, picked at random from those with waiting messages. */
const partitionsPerBatch = 64;

/**
 * What the relay `holder` reads and writes; everything but taking the lease does nothing, and reports that, under a
 * foreign fence.
 */
export function relayStore(db: Database, holder: string) {
  return new Store(db, holder);
}

class Store {
  readonly #holder: string;
  readonly #db: Database;
  readonly #who;
  readonly #leaseEnd = sql`clock_timestamp() + ${leaseMs} * interval '1 millisecond'`;

  constructor(db: Database, holder: string) {
    this.#holder = holder;
    this.#db = db;
    this.#who = { caller: systemCaller(db.name) };
  }

  #execute(statement: Query) {
    return this.#db.inOneBatch(this.#who, (t) => t.execute(statement));
  }

  #query<R>(statement: Query) {
    return this.#db.read<R>(this.#who, statement);
  }

  #queryByIndex<R>(statement: Query) {
    return this.#db.inOneBatch(
      this.#who,
      async (t) => (await Promise.all([byIndexAlone(t), t.query<R>(statement)]))[1],
      {
        readOnly: true,
      },
    );
  }

  #executeByIndex(statement: Query) {
    return this.#db.inOneBatch(this.#who, async (t) => (await Promise.all([byIndexAlone(t), t.execute(statement)]))[1]);
  }

  // The row lock of this update is the fence: a relay that takes the lease over waits for it, and one that lost it
  // finds no row.
  #renewal(fence: number) {
    return sql`
    update relay_lease set expires_at = ${this.#leaseEnd} where holder = ${this.#holder} and fence = ${fence} returning fence`;
  }

  /** The new fence when the lease was free, expired or ours; null while another relay holds it. */
  readonly acquire = async (): Promise<number | null> => {
    const [row] = await this.#db.inOneBatch(this.#who, (t) =>
      t.query<{ fence: number }>(sql`
          update relay_lease set holder = ${this.#holder}, fence = fence + 1, expires_at = ${this.#leaseEnd}
          where holder is null or holder = ${this.#holder} or expires_at < clock_timestamp()
          returning fence`),
    );
    return row?.fence ?? null;
  };

  readonly renew = async (fence: number): Promise<boolean> => {
    return (await this.#execute(this.#renewal(fence))) === 1;
  };

  readonly release = async (fence: number): Promise<void> => {
    await this.#execute(sql`
        update relay_lease set holder = null, expires_at = clock_timestamp() where holder = ${this.#holder} and fence = ${fence}`);
  };

  /** Whether any row waits to be published. */
  readonly isAnyWaiting = async (): Promise<boolean> => {
    return (
      (await this.#queryByIndex(sql`select id from outbox where published_at is null order by id limit 1`)).length > 0
    );
  };

  /** Whether any row was published longer ago than promises are kept. */
  readonly isAnyExpired = async (): Promise<boolean> => {
    return (
      (
        await this.#queryByIndex(sql`
          select id from outbox where published_at < clock_timestamp() - ${keptMinutes} * interval '1 minute'
          order by published_at limit 1`)
      ).length > 0
    );
  };

  /** The oldest unpublished rows whose subject does not begin with one of the paused tokens. */
  readonly unpublished = (limit: number, pausedRoots: string[]) => {
    return this.#queryByIndex<OutboxRow>(sql`
        select id, subject, msg_id as "msgId", body, traceparent from outbox
        where published_at is null and split_part(subject, '.', 1) <> all(${pausedRoots}::text[])
        order by id limit ${limit}`);
  };

  /**
   * The oldest unpublished rows of every partition (column `lane`) but the throttled ones, as many of each as it
   * takes to come to `most`, or `least`. The heads of all partitions come first.
   */
  readonly shares = (most: number, least: number, pausedRoots: string[], throttled: string[]) => {
    return this.#queryByIndex<SharedRow>(sql`
        with recursive partitions as (
          (select lane from outbox where published_at is null order by lane limit 1)
          union all
          select (select o.lane from outbox o where o.published_at is null and o.lane > l.lane order by o.lane limit 1)
          from partitions l where l.lane is not null
        ), going as materialized (
          select lane from partitions
          where lane is not null and lane <> all(${throttled}::text[]) and split_part(lane, '.', 1) <> all(${pausedRoots}::text[])
          order by random() limit ${partitionsPerBatch}
        ), share as materialized (
          select greatest(${least}::int, ${most}::int / greatest(1, count(*))) as rows from going
        )
        select w.id, w.subject, w.msg_id as "msgId", w.body, w.traceparent, g.lane, w.position = (select rows from share) as "fillsShare"
        from going g cross join lateral (
          select o.*, row_number() over (order by o.id) as position from outbox o
          where o.published_at is null and o.lane = g.lane
          order by o.id limit (select rows from share)
        ) as w
        order by w.position, w.id limit ${most}`);
  };

  /**
   * Marks acknowledged rows; false when the lease was lost, and nothing is marked, or when a row is not the one
   * that was published: a failover may give its id to another, which has yet to be.
   */
  readonly mark = async (fence: number, positions: readonly (StreamPosition & { id: number })[]): Promise<boolean> => {
    const marked = await this.#executeByIndex(sql`
        with held as (${this.#renewal(fence)}),
        given as (
          select * from unnest(${positions.map((p) => p.id)}::bigint[], ${positions.map((p) => p.stream)}::text[],
                               ${positions.map((p) => p.created)}::text[], ${positions.map((p) => p.seq)}::bigint[],
                               ${positions.map((p) => p.msgId)}::text[])
            as given (id, stream, created, seq, msg_id)
        )
        update outbox set published_at = clock_timestamp(), stream = given.stream, stream_created = given.created,
                          stream_seq = given.seq
        from given where outbox.id = given.id and outbox.msg_id = given.msg_id and exists (select from held)`);
    return marked === positions.length;
  };

  /**
   * Puts a row that no stream will take among the dead letters; false when the lease was lost, or it is another row
   * now.
   */
  readonly bury = (fence: number, row: OutboxRow, reason: string, attempts: number) => {
    return this.#db.tx(this.#who, async (t) => {
      if ((await t.execute(this.#renewal(fence))) !== 1) return false;
      const buried = await t.execute(
        sql`update outbox set published_at = clock_timestamp() where id = ${row.id} and msg_id = ${row.msgId}`,
      );
      if (buried === 1) await t.execute(deadLetterInsert({ ...row, reason, attempts }).statement);
      return buried === 1;
    });
  };

  /** The newest promise of each stream, per creation of it, among the rows still kept. */
  readonly newestPublished = () => {
    return this.#query<StreamPosition>(sql`
        select distinct on (stream, stream_created) stream, stream_created as created, stream_seq as seq, msg_id as "msgId"
        from outbox where published_at is not null and stream is not null
        order by stream, stream_created, stream_seq desc`);
  };

  /**
   * Takes the marks off every kept row of a stream, oldest first, so that they are published again. Returns how
   * many.
   */
  readonly unmark = async (fence: number, stream: string): Promise<number> => {
    let unmarked = 0;
    for (;;) {
      const rows = await this.#db.tx({ ...this.#who, deadlineMs: performance.now() + longMs }, (t) =>
        t.execute(sql`
            with held as (${this.#renewal(fence)})
            update outbox set published_at = null, stream = null, stream_created = null, stream_seq = null
            where id in (select id from outbox where published_at is not null and stream = ${stream} order by id limit ${chunkRows})
              and exists (select from held)`),
      );
      unmarked += rows;
      if (rows < chunkRows) return unmarked;
    }
  };

  /** Deletes one chunk of rows published longer ago than promises are kept; true when there may be more. */
  readonly clean = async (): Promise<boolean> => {
    const deleted = await this.#executeByIndex(sql`
        delete from outbox where id in (
          select id from outbox where published_at < clock_timestamp() - ${keptMinutes} * interval '1 minute'
          order by published_at limit ${chunkRows})`);
    return deleted === chunkRows;
  };

  /** Number of waiting rows (counted up to 100,000) and the age of the oldest in seconds. */
  readonly backlog = async (): Promise<{ rows: number; oldestSeconds: number }> => {
    const [row] = await this.#query<{ rows: number; oldestSeconds: number }>(sql`
        select count(*)::int as rows,
               coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8 as "oldestSeconds"
        from (select created_at from outbox where published_at is null order by id limit ${backlogCap}) waiting`);
    return row ?? { rows: 0, oldestSeconds: 0 };
  };
}
