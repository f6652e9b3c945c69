import type { Database, Tx } from "@muster/db";
import {
  counter,
  gauge,
  type Logger,
  type Repeating,
  repeatEvery,
  type SecretBox,
  sleep,
  systemCaller,
  uuidv7,
} from "@muster/kit";
import { type Delivery, MailRefused, mailsAtOnce } from "../clients/mail-delivery.ts";
import { type MailQueue, mailKinds, type ResetRequest, resetMs, resetRequestKind } from "../emits/mail-queue.ts";
import type { SealedMail } from "../rules/mail-texts.ts";
import { newToken } from "../rules/opaque-token.ts";
import { mayUsePassword } from "../rules/password-sign-in.ts";
import {
  claimMail,
  deleteMail,
  type MailRow,
  mailCounts,
  markDropped,
  markSent,
  removeOldMail,
  retryMail,
} from "../store/mail.ts";
import { insertPasswordReset } from "../store/password-resets.ts";
import { findLogins, findPrincipal } from "../store/principals.ts";
import { mailLocation } from "../store/sealed-columns.ts";

export type SendMailDeps = {
  db: Database;
  box: SecretBox;
  mail: MailQueue;
  delivery: Delivery | null;
  log: Logger;
  now: () => Date;
};

/** Longer than a mail takes over SMTP when every step of it times out. */
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

const sent = counter(
  "muster_identity_mail_attempts_total",
  "Attempts to send mails, by outcome.",
  ["kind", "outcome"],
  { kind: mailKinds, outcome: ["done", "failed", "dropped"] },
);
const waiting = gauge("muster_identity_mails_queued", "Mails that wait to be sent.");
const dropped = gauge("muster_identity_mails_dropped", "Mails of the last week that were dropped.");

/** Milliseconds until the next try after this many: 5 s, doubled each time, at most an hour. */
export const backOffMs = (attempts: number) => Math.min(3_600_000, 5_000 * 2 ** (attempts - 1));

/**
 * Sends everything that is due until `signal`; returns the number of processed rows. Recipients' organizations are
 * served round-robin, and one whose mail is in flight has no other one: a recipient's server that hangs delays the
 * mails of its own queue alone. Several replicas share the work.
 */
export async function sendDueMail(deps: SendMailDeps, signal?: AbortSignal): Promise<number> {
  const { db, delivery, now } = deps;
  if (delivery === null) return 0;
  const sending = new Map<string, Promise<void>>();
  const failures: unknown[] = [];
  let done = 0;
  let after = "";
  while (!signal?.aborted && failures.length === 0) {
    const busy = [...sending.keys()];
    const limit = mailsAtOnce - busy.length;
    const rows = limit === 0 ? [] : await claimMail(db, { after, busy, limit }, leaseMs, now());
    for (const row of rows) {
      const dealt = deal(deps, delivery, row).catch((err: unknown) => void failures.push(err));
      sending.set(
        row.lane,
        dealt.finally(() => sending.delete(row.lane)),
      );
    }
    done += rows.length;
    const fromFirst = after === "";
    const last = rows
      .map(({ lane }) => lane)
      .sort()
      .at(-1);
    // After the last queue comes the first again.
    after = rows.length < limit ? "" : (last ?? after);
    // Until nothing is due: a mail that a request creates is sent in the same run.
    if (rows.length === 0 && busy.length === 0 && fromFirst) return done;
    if (rows.length < limit && !fromFirst) continue;
    if (sending.size > 0) await oneOf(sending.values());
  }
  await Promise.all(sending.values());
  if (failures.length > 0) throw failures[0];
  return done;
}

/** Resolves when one of them has ended, or after a second: a mail that is queued meanwhile does not wait for them. */
async function oneOf(sending: Iterable<Promise<void>>): Promise<void> {
  const ended = new AbortController();
  await Promise.race([...sending, sleep(1_000, ended.signal)]);
  ended.abort();
}

async function deal(deps: SendMailDeps, delivery: Delivery, row: MailRow): Promise<void> {
  const { db, log, now } = deps;
  const { id, kind } = row;
  try {
    if (row.expires_at <= now()) throw new MailRefused("expired before it could be sent");
    const content: unknown = JSON.parse(deps.box.open(row.sealed, mailLocation(id)).toString());
    if (kind === resetRequestKind) await answerRequest(deps, row, content as ResetRequest);
    else {
      await delivery.send({ ...(content as SealedMail), id, kind });
      await markSent(db, row, now());
    }
    sent.inc({ kind, outcome: "done" });
  } catch (err) {
    const message = err instanceof Error ? err.message : String(err);
    if (err instanceof MailRefused || row.attempts >= maxAttempts) {
      sent.inc({ kind, outcome: "dropped" });
      log.error({ err, id, kind, attempts: row.attempts }, "mail dropped");
      await markDropped(db, row, message, now());
    } else {
      sent.inc({ kind, outcome: "failed" });
      log.warn({ err, id, kind, attempts: row.attempts }, "mail not sent, tried again later");
      await retryMail(db, row, message, new Date(now().getTime() + backOffMs(row.attempts)));
    }
  }
}

/**
 * Replaces a request for a new password by a mail with a link, for each account of the address; drops it when no
 * account may sign in by password.
 */
async function answerRequest(
  { db, mail, now }: SendMailDeps,
  row: MailRow,
  { email, from }: ResetRequest,
): Promise<void> {
  const candidates = await findLogins(db, email);
  const accounts = await Promise.all(candidates.map(({ user_id }) => findPrincipal(db, user_id)));
  await db.tx(system, async (tx: Tx) => {
    if (!(await deleteMail(tx, row))) return;
    const at = now();
    const expiresAt = new Date(at.getTime() + resetMs);
    for (const user of accounts.filter(mayUsePassword)) {
      const { token, hash } = newToken("pwr_");
      await insertPasswordReset(tx, { id: uuidv7(at.getTime()), userId: user.user_id, hash, now: at, expiresAt });
      const to = { email: user.email, name: user.name };
      const link = mail.link("reset-password", token);
      await mail.queue(tx, { kind: "password_reset", to, link, expiresAt, from }, user, at);
    }
  });
}

/** Sends what is due each `pollMs` until stopped; when idle each fifth time. */
export function startMail(deps: SendMailDeps, pollMs = 1_000): Repeating {
  const { db, delivery, log, now } = deps;
  const stopping = new AbortController();
  let polls = 0;
  let sentMs = Number.NEGATIVE_INFINITY;
  const round = async () => {
    const isBusy = performance.now() - Math.max(sentMs, deps.mail.queuedMs()) < busyPolls * pollMs;
    if (!isBusy && polls++ % restPolls !== 0) return;
    if ((await sendDueMail(deps, stopping.signal)) > 0) sentMs = performance.now();
  };
  const clean = async () => {
    await removeOldMail(db, new Date(now().getTime() - keepFinishedMs), now());
    const counts = await mailCounts(db);
    waiting.set(counts.waiting);
    dropped.set(counts.dropped);
  };
  const sending = repeatEvery(pollMs, round, (err) => log.warn({ err }, "mail cannot be sent now"));
  const cleaning = repeatEvery(cleanPolls * pollMs, clean, (err) => log.warn({ err }, "mail cannot be cleaned up now"));
  return {
    async stop() {
      stopping.abort();
      await Promise.all([sending.stop(), cleaning.stop()]);
      delivery?.close();
    },
  };
}
