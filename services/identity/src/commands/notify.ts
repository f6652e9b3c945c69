import type { Tx } from "@muster/db";
import { type NotificationKind, systemCaller } from "@muster/kit";
import type { NotificationDeps } from "../deps.ts";
import { mailHeads, mayRead, mostLines } from "../rules/notification.ts";
import {
  addLine,
  type DueMail,
  endMail,
  type Line,
  lockDueMail,
  usersWith,
  waitingLines,
} from "../store/notifications.ts";
import { readPrincipal } from "../store/principals.ts";

/** Whether the one in whose name it is sent still may. */
export type Author = "allowed" | "refused" | "missing";

export type Notice = Line & {
  /** Null: the platform. */
  authorId: string | null;
  userIds: readonly string[];
  /** Instead of those users, all who hold the permission for the platform, or in the partner that it is about. */
  allOf: "platform" | "partner" | null;
};

const system = { caller: systemCaller("identity") };
/** Lines read of one mail: those beyond are counted as others, at most this many. */
const mostRead = 1_000;

/**
 * Adds the line to the next mail of each recipient who may read it and wants it; nobody's when the author may not read
 * it any more.
 */
export function notify(
  { db, now }: NotificationDeps,
  { authorId, userIds, allOf, ...line }: Notice,
): Promise<{ author: Author; notifiedIds: string[] }> {
  return db.tx(system, async (tx) => {
    const writer = authorId === null ? null : await readPrincipal(tx, authorId);
    if (authorId !== null && writer === null) return { author: "missing", notifiedIds: [] };
    if (writer !== null && !mayRead(writer, line.about)) return { author: "refused", notifiedIds: [] };
    const recipients = allOf === null ? userIds : await usersWith(tx, line.about);
    const notifiedIds: string[] = [];
    // In one order: two senders with the same recipients wait for each other.
    for (const id of [...new Set(recipients)].sort()) {
      const user = await readPrincipal(tx, id);
      if (user && mayRead(user, line.about) && (await addLine(tx, id, line, now()))) notifiedIds.push(id);
    }
    return { author: "allowed", notifiedIds };
  });
}

/** Queues one mail that is due, with the lines that its user may still read; false when none is due. */
export function mailDueLines(deps: NotificationDeps): Promise<boolean> {
  return deps.db.tx(system, async (tx) => {
    const now = deps.now();
    const due = await lockDueMail(tx, now);
    if (due) await endMail(tx, due, (await queueMail(deps, tx, due, now)) ? now : null, now);
    return due !== null;
  });
}

async function queueMail({ mail, unsubscribing }: NotificationDeps, tx: Tx, due: DueMail, now: Date): Promise<boolean> {
  const user = await readPrincipal(tx, due.user_id);
  if (!user || !due.mail) return false;
  const lines = (await waitingLines(tx, due, mostRead)).filter(({ permission, org_id: orgId, partner_id: partnerId }) =>
    mayRead(user, { permission, orgId, partnerId }),
  );
  if (lines.length === 0) return false;
  const kind = due.kind as NotificationKind;
  const digest = {
    ...mailHeads[kind],
    lines: lines
      .slice(0, mostLines)
      .map(({ line, link }) => ({ text: line, url: link === "" ? null : mail.page(link) })),
    others: Math.max(0, lines.length - mostLines),
    unsubscribe: mail.link("unsubscribe", unsubscribeToken(unsubscribing, { userId: user.user_id, kind })),
  };
  await mail.queue(tx, { kind: "notification", to: { email: user.email, name: user.name }, digest }, user, now);
  return true;
}

type Subscription = { userId: string; kind: NotificationKind };

const tokenLocation = "unsubscribe";

function unsubscribeToken(box: NotificationDeps["unsubscribing"], subscription: Subscription): string {
  return box.seal(Buffer.from(JSON.stringify(subscription)), tokenLocation).toString("base64url");
}

/** The mails that a link ends; null for every token that is none of ours. */
export function subscriptionOf(box: NotificationDeps["unsubscribing"], token: string): Subscription | null {
  try {
    return JSON.parse(box.open(Buffer.from(token, "base64url"), tokenLocation).toString()) as Subscription;
  } catch {
    // Whatever is wrong with it: strangers learn nothing.
    return null;
  }
}
