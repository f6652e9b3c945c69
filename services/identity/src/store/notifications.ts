import { type Database, sql, type Tx } from "@muster/db";
import { type NotificationKind, systemCaller } from "@muster/kit";
import { mailIntervalMs, type Readership } from "../rules/notification.ts";

/** Something that a mail tells. `link` is a path of the console, empty for none. */
export type Line = { id: string; kind: NotificationKind; about: Readership; line: string; link: string };

/** A user's next mail of a kind. */
export type DueMail = { user_id: string; kind: string; mail: boolean };
export type WaitingLine = {
  id: string;
  line: string;
  link: string;
  permission: string;
  org_id: string | null;
  partner_id: string | null;
};

const system = { caller: systemCaller("identity") };

/** Adds a line to the user's next mail; false when they want none of the kind. A line that is there stays as it is. */
export async function addLine(tx: Tx, userId: string, { id, kind, about, ...text }: Line, now: Date): Promise<boolean> {
  const [choice] = await tx.query<{ mail: boolean }>(
    sql`SELECT mail FROM notification_choices WHERE user_id = ${userId} AND kind = ${kind}`,
  );
  if (choice?.mail === false) return false;
  const added = await tx.execute(sql`
    INSERT INTO notification_lines (user_id, id, kind, org_id, partner_id, permission, line, link, created_at)
    VALUES (${userId}, ${id}, ${kind}, ${about.orgId}, ${about.partnerId}, ${about.permission}, ${text.line},
            ${text.link}, ${now})
    ON CONFLICT DO NOTHING`);
  if (added === 0) return true;
  await tx.execute(sql`
    INSERT INTO notification_choices AS c (user_id, kind, due_at) VALUES (${userId}, ${kind}, ${now})
    ON CONFLICT (user_id, kind) DO UPDATE SET due_at = coalesce(
      c.due_at, greatest(${now}::timestamptz, c.last_mail_at + ${mailIntervalMs}::int * interval '1 millisecond'))`);
  return true;
}

/** Those of the platform, or of a partner's own people, are few. */
const usersMax = 1_000;

/** Active users of the partner itself, or (null) of the platform, with that permission. */
export async function usersWith(
  tx: Tx,
  { partnerId, permission }: Pick<Readership, "partnerId" | "permission">,
): Promise<string[]> {
  const ofOwner =
    partnerId === null ? sql`u.scope = 'system'` : sql`u.scope = 'partner' AND u.partner_id = ${partnerId}::uuid`;
  const rows = await tx.query<{ id: string }>(sql`
    SELECT u.id FROM users u JOIN roles r ON r.id = u.role_id
    WHERE ${ofOwner} AND u.status = 'active' AND ${permission} = ANY (r.permissions) ORDER BY u.id LIMIT ${usersMax}`);
  return rows.map(({ id }) => id);
}

/** Whether a mail is due at all: an idle service writes nothing. Index notification_choices_due. */
export async function isAnyDue(db: Database, now: Date): Promise<boolean> {
  const due = sql`SELECT kind FROM notification_choices WHERE due_at <= ${now} LIMIT 1`;
  return (await db.read(system, due)).length > 0;
}

/** Locks the mail that is due for the longest time, which no other replica has. */
export async function lockDueMail(tx: Tx, now: Date): Promise<DueMail | null> {
  const [row] = await tx.query<DueMail>(sql`
    SELECT user_id, kind, mail FROM notification_choices WHERE due_at <= ${now}
    ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED`);
  return row ?? null;
}

/** The lines of a locked mail, oldest first (index notification_lines_waiting). */
export function waitingLines(tx: Tx, { user_id: userId, kind }: DueMail, most: number): Promise<WaitingLine[]> {
  return tx.query<WaitingLine>(sql`
    SELECT id, line, link, permission, org_id, partner_id FROM notification_lines
    WHERE user_id = ${userId} AND kind = ${kind} AND mailed_at IS NULL ORDER BY created_at, id LIMIT ${most}`);
}

/** Ends a locked mail; `at` is when it was sent, null when nothing of it was. Its lines keep their ids alone. */
export async function endMail(tx: Tx, { user_id: userId, kind }: DueMail, at: Date | null, now: Date): Promise<void> {
  await tx.execute(sql`
    UPDATE notification_lines SET line = '', link = '', mailed_at = ${now}
    WHERE user_id = ${userId} AND kind = ${kind} AND mailed_at IS NULL`);
  await tx.execute(sql`
    UPDATE notification_choices SET due_at = NULL, last_mail_at = coalesce(${at}, last_mail_at)
    WHERE user_id = ${userId} AND kind = ${kind}`);
}

/** Forgets the ids of lines that were mailed before `before` (index notification_lines_mailed). */
export async function removeMailedLines(db: Database, before: Date): Promise<void> {
  await db.tx(system, (tx) => tx.execute(sql`DELETE FROM notification_lines WHERE mailed_at < ${before}`));
}

/** What a user chose, by kind; a kind that is missing is wanted. */
export async function readChoices(tx: Tx, userId: string): Promise<Map<string, boolean>> {
  const rows = await tx.query<{ kind: string; mail: boolean }>(
    sql`SELECT kind, mail FROM notification_choices WHERE user_id = ${userId}`,
  );
  return new Map(rows.map(({ kind, mail }) => [kind, mail]));
}

export async function storeChoice(tx: Tx, userId: string, kind: NotificationKind, mail: boolean): Promise<void> {
  await tx.execute(sql`
    INSERT INTO notification_choices (user_id, kind, mail) VALUES (${userId}, ${kind}, ${mail})
    ON CONFLICT (user_id, kind) DO UPDATE SET mail = excluded.mail`);
}
