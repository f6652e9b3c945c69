import type { Database, Tx } from "@muster/db";
import {
  counter,
  gauge,
  type Logger,
  type Repeating,
  repeatEvery,
  type SecretBox,
  systemCaller,
  uuidv7,
} from "@muster/kit";
import { type Delivery, MailRefused } from "../clients/mail-delivery.ts";
import { type MailQueue, type ResetRequest, resetMs, resetRequestKind } from "../emits/mail-queue.ts";
import type { SealedMail } from "../rules/mail-texts.ts";
import { newToken } from "../rules/opaque-token.ts";
import { mayUsePassword } from "../rules/password-sign-in.ts";
import {
  claimMail,
  deleteMail,
  type MailRow,
  mailCounts,
  markPoison,
  markSent,
  removeOldMail,
  retryMail,
} from "../store/mail.ts";
import { insertPasswordReset } from "../store/password-resets.ts";
import { findLogin, findPrincipal } from "../store/people.ts";
import { mailPlace } from "../store/sealed-columns.ts";

export type SendMailDeps = {
  db: Database;
  box: SecretBox;
  mail: MailQueue;
  delivery: Delivery | null;
  log: Logger;
  now: () => Date;
};

const batch = 10;
/** Longer than a batch takes over SMTP when every mail in it times out. */
const leaseMs = 10 * 60_000;
const maxAttempts = 10;
/**
 * One poll in this many looks for mails when this process queued and sent none in the last `busyPolls` polls: mails of
 * other replicas and retries wait that long.
 */
const restPolls = 5;
const busyPolls = 10;
/** Polls between removals of what is kept no longer. */
const cleanPolls = 60;
const keepFinishedMs = 7 * 86_400_000;
const system = { caller: systemCaller("identity") };

const sent = counter("identity_mail_total", "Attempts to send mails, by outcome.", ["kind", "outcome"]);
const waiting = gauge("identity_mail_waiting", "Mails that wait to be sent.");
const poison = gauge("identity_mail_poison", "Mails of the last week that were dropped.");

/** Milliseconds until the next try after this many: 5 s, doubled each time, at most an hour. */
export const backOffMs = (attempts: number) => Math.min(3_600_000, 5_000 * 2 ** (attempts - 1));

/** Sends everything that is due; returns the number of processed rows. Several replicas share the work. */
export async function sendDueMail(deps: SendMailDeps): Promise<number> {
  let done = 0;
  for (;;) {
    const rows = deps.delivery === null ? [] : await claimMail(deps.db, batch, leaseMs, deps.now());
    for (const row of rows) await deal(deps, deps.delivery as Delivery, row);
    done += rows.length;
    // Until nothing is due: a mail that a request creates is sent in the same run.
    if (rows.length === 0) return done;
  }
}

async function deal(deps: SendMailDeps, delivery: Delivery, row: MailRow): Promise<void> {
  const { db, log, now } = deps;
  const { id, kind } = row;
  try {
    if (row.expires_at <= now()) throw new MailRefused("expired before it could be sent");
    const content: unknown = JSON.parse(deps.box.open(row.sealed, mailPlace(id)).toString());
    if (kind === resetRequestKind) await answerRequest(deps, row, content as ResetRequest);
    else {
      await delivery.send({ ...(content as SealedMail), id, kind });
      await markSent(db, row, now());
    }
    sent.inc({ kind, outcome: "done" });
  } catch (err) {
    const message = err instanceof Error ? err.message : String(err);
    if (err instanceof MailRefused || row.attempts >= maxAttempts) {
      sent.inc({ kind, outcome: "poison" });
      log.error({ err, id, kind, attempts: row.attempts }, "mail dropped");
      await markPoison(db, row, message, now());
    } else {
      sent.inc({ kind, outcome: "failed" });
      log.warn({ err, id, kind, attempts: row.attempts }, "mail not sent, tried again later");
      await retryMail(db, row, message, new Date(now().getTime() + backOffMs(row.attempts)));
    }
  }
}

/** Replaces a request for a new password by a mail with a link; drops it when no account may sign in by password. */
async function answerRequest(
  { db, mail, now }: SendMailDeps,
  row: MailRow,
  { email, from }: ResetRequest,
): Promise<void> {
  const candidate = await findLogin(db, email);
  const person = candidate?.password_hash ? await findPrincipal(db, candidate.user_id) : null;
  await db.tx(system, async (tx: Tx) => {
    if (!(await deleteMail(tx, row)) || !person || !mayUsePassword(person)) return;
    const at = now();
    const expiresAt = new Date(at.getTime() + resetMs);
    const { token, hash } = newToken("pwr_");
    await insertPasswordReset(tx, { id: uuidv7(at.getTime()), userId: person.user_id, hash, now: at, expiresAt });
    const to = { email: person.email, name: person.name };
    await mail.queue(tx, { kind: "password_reset", to, link: mail.link("reset-password", token), expiresAt, from }, at);
  });
}

/** Sends what is due each `pollMs` until stopped; at rest each fifth time. */
export function startMail(deps: SendMailDeps, pollMs = 1_000): Repeating {
  let polls = 0;
  let sentMs = Number.NEGATIVE_INFINITY;
  const round = async () => {
    const poll = polls++;
    const isBusy = performance.now() - Math.max(sentMs, deps.mail.queuedMs()) < busyPolls * pollMs;
    if (!isBusy && poll % restPolls !== 0) return;
    if ((await sendDueMail(deps)) > 0) sentMs = performance.now();
    if (poll % cleanPolls !== 0) return;
    const now = deps.now();
    await removeOldMail(deps.db, new Date(now.getTime() - keepFinishedMs), now);
    const counts = await mailCounts(deps.db);
    waiting.set(counts.waiting);
    poison.set(counts.poison);
  };
  const sending = repeatEvery(pollMs, round, (err) => deps.log.warn({ err }, "mail cannot be sent now"));
  return {
    async stop() {
      await sending.stop();
      deps.delivery?.close();
    },
  };
}
