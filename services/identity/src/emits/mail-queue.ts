import type { Tx } from "@muster/db";
import { type RequestMeta, type SecretBox, uuidv7 } from "@muster/kit";
import { deviceName } from "../rules/device-name.ts";
import { type Mail, mailText, type Origin, type SealedMail } from "../rules/mail-texts.ts";
import { insertMail } from "../store/mail.ts";
import { mailPlace } from "../store/sealed-columns.ts";

/** Sealed content of a row of kind password_reset_request: the requesting client, for an account that may not exist. */
export type ResetRequest = { email: string; from: Origin };

export type MailQueue = {
  /**
   * Queues a mail in the transaction: it is sent exactly when that commits, and its links are never stored in clear.
   */
  queue(tx: Tx, mail: Mail, now: Date): Promise<void>;
  /** Queues a request for a new password, identically for every e-mail. */
  requestReset(tx: Tx, request: ResetRequest, now: Date): Promise<void>;
  /**
   * `path` of the pages that people open, with the token of a link behind `#`: no server, log or Referer ever sees it.
   */
  link(path: "accept-invite" | "reset-password", token: string): string;
  /** When this process queued last, on the clock of `performance.now()`; it may not be committed yet. */
  queuedMs(): number;
};

/** A mail without a link is worth sending for this long. */
const noticeMs = 7 * 86_400_000;
/** Life of a link to set a new password (docs/behaviour.md#sessions). */
export const resetMs = 3_600_000;

export function mailQueue({ box, publicUrl }: { box: SecretBox; publicUrl: string }): MailQueue {
  let queuedMs = Number.NEGATIVE_INFINITY;
  const insert = async (tx: Tx, kind: string, content: SealedMail | ResetRequest, expiresAt: Date, now: Date) => {
    const id = uuidv7(now.getTime());
    const sealed = box.seal(Buffer.from(JSON.stringify(content)), mailPlace(id));
    queuedMs = performance.now();
    await insertMail(tx, { id, kind, sealed, expiresAt, now });
  };
  return {
    async queue(tx, mail, now) {
      const { subject, text, html } = mailText(mail);
      const to = { address: mail.to.email, name: mail.to.name };
      const expiresAt = "expiresAt" in mail ? mail.expiresAt : new Date(now.getTime() + noticeMs);
      await insert(tx, mail.kind, { to, subject, text, html }, expiresAt, now);
    },
    async requestReset(tx, request, now) {
      await insert(tx, resetRequestKind, request, new Date(now.getTime() + resetMs), now);
    },
    link: (path, token) => `${publicUrl}/${path}#token=${encodeURIComponent(token)}`,
    queuedMs: () => queuedMs,
  };
}

export const resetRequestKind = "password_reset_request";

/** Where a request came from, as people read it. */
export const originOf = ({ clientAddress, userAgent }: RequestMeta): Origin => ({
  address: clientAddress,
  device: deviceName(userAgent),
});
