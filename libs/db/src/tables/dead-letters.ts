import { systemCaller, uuidv7 } from "@muster/kit";
import type { Database } from "../client/database.ts";
import { type Query, sql } from "../client/statement.ts";
import type { Tx } from "../client/transaction.ts";

export type NewDeadLetter = {
  subject: string;
  msgId: string;
  reason: string;
  body: Uint8Array;
  attempts: number;
  traceparent?: string | null;
};

export type DeadLetter = {
  id: string;
  subject: string;
  msgId: string;
  reason: string;
  /** The first 64 KB. */
  body: Buffer;
  /** Length of the whole body: more than `body` has when it was truncated. */
  bodyBytes: number;
  traceparent: string | null;
  attempts: number;
  createdAt: Date;
  requeuedAt: Date | null;
};

const keptBytes = 65_536;
const columns = sql`id, subject, msg_id as "msgId", reason, body, body_bytes as "bodyBytes", traceparent, attempts,
                    created_at as "createdAt", requeued_at as "requeuedAt"`;

/**
 * The dead letters of a service, for system callers only: messages that were set apart so that later ones are
 * processed.
 */
export function deadLetters(db: Database) {
  const who = { caller: systemCaller(db.name) };
  return {
    /**
     * Stores a letter, its body truncated at 64 KB; resolves to its id after COMMIT, or within `t` (a system's
     * transaction).
     */
    async put(letter: NewDeadLetter, t?: Tx): Promise<string> {
      const { id, statement } = deadLetterInsert(letter);
      await (t ? t.execute(statement) : db.tx(who, (own) => own.execute(statement)));
      return id;
    },

    /** Letters, newest first, from before the one with id `before`; `limit` is at most 100. */
    list: ({ limit = 50, before = null }: { limit?: number; before?: string | null } = {}): Promise<DeadLetter[]> =>
      db.read(
        who,
        sql`select ${columns} from dead_letter where ${before}::uuid is null or id < ${before}::uuid
            order by id desc limit ${Math.min(limit, 100)}`,
      ),

    /**
     * Marks a letter as requeued and runs `again` in the same transaction (emit it, or handle it again). False when
     * there is no such letter or it was requeued before.
     */
    requeue: (id: string, again: (t: Tx, letter: DeadLetter) => Promise<void> | void): Promise<boolean> =>
      db.tx(who, async (t) => {
        const [letter] = await t.query<DeadLetter>(sql`
          update dead_letter set requeued_at = now() where id = ${id} and requeued_at is null returning ${columns}`);
        if (!letter) return false;
        await again(t, letter);
        return true;
      }),
  };
}

/** The insert of a letter and its new id. */
export function deadLetterInsert(letter: NewDeadLetter): { id: string; statement: Query } {
  const id = uuidv7();
  const { subject, msgId, reason, body, attempts, traceparent = null } = letter;
  const statement = sql`
    insert into dead_letter (id, subject, msg_id, reason, body, body_bytes, traceparent, attempts)
    values (${id}, ${subject}, ${msgId}, ${reason.replaceAll("\0", " ")}, ${body.subarray(0, keptBytes)}, ${body.byteLength},
            ${traceparent}, ${attempts})`;
  return { id, statement };
}
