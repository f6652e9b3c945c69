import { hash } from "node:crypto";
import type { Tx } from "@muster/db";
import { clientNetwork, type RequestMeta, type SecretBox, uuidv7 } from "@muster/kit";
import { deviceName } from "../rules/device-name.ts";
import { type Mail, mailText, type Origin, type SealedMail } from "../rules/mail-texts.ts";
import { insertMail } from "../store/mail.ts";
import { mailLocation } from "../store/sealed-columns.ts";

/** Sealed content of a row of kind password_reset_request: the requesting client, for an account that may not exist. */
export type ResetRequest = { email: string; from: Origin };

/** The organization, else the partner, of the user to whom a mail is sent; neither is the platform. */
export type MailTenant = { org_id: string | null; partner_id: string | null };

export type MailQueue = {
  /**
   * Queues a mail in the transaction: it is sent exactly when that commits, and its links are never stored in clear.
   * Mails to users of one tenant are sent one after the other, invitations and notifications separately.
   */
  queue(tx: Tx, mail: Mail, of: MailTenant, now: Date): Promise<void>;
  /** Queues a request for a new password, identically for every e-mail. */
  requestReset(tx: Tx, request: ResetRequest, now: Date): Promise<void>;
  /**
   * `path` of the pages that people open, with the token of a link behind `#`: no server, log or Referer ever sees it.
   */
  link(path: "accept-invite" | "reset-password" | "unsubscribe", token: string): string;
  /** Address of a page of the console, of its path. */
  page(path: string): string;
  /** When this process queued last, on the clock of `performance.now()`; it may not be committed yet. */
  queuedMs(): number;
};

/** A mail without a link is worth sending for this long. */
const noticeMs = 7 * 86_400_000;
/** Life of a link to set a new password (docs/behaviour.md#sessions). */
export const resetMs = 3_600_000;

export function mailQueue({ box, publicUrl }: { box: SecretBox; publicUrl: string }): MailQueue {
  let queuedMs = Number.NEGATIVE_INFINITY;
  type Row = { kind: string; lane: string; content: SealedMail | ResetRequest; expiresAt: Date; now: Date };
  const insert = async (tx: Tx, { content, lane, ...row }: Row) => {
    const { now } = row;
    const id = uuidv7(now.getTime());
    const sealed = box.seal(Buffer.from(JSON.stringify(content)), mailLocation(id));
    queuedMs = performance.now();
    // The table holds no tenant and no address in clear.
    await insertMail(tx, { id, sealed, lane: hash("sha256", lane, "hex").slice(0, 32), ...row });
  };
  return {
    async queue(tx, mail, { org_id: orgId, partner_id: partnerId }, now) {
      const { subject, text, html } = mailText(mail);
      const to = { address: mail.to.email, name: mail.to.name };
      const expiresAt = "expiresAt" in mail ? mail.expiresAt : new Date(now.getTime() + noticeMs);
      const tenant = orgId ?? partnerId ?? "platform";
      const lane = mail.kind === "invite" || mail.kind === "notification" ? `${mail.kind}/${tenant}` : tenant;
      await insert(tx, { kind: mail.kind, lane, content: { to, subject, text, html }, expiresAt, now });
    },
    async requestReset(tx, request, now) {
      const lane = `request/${clientNetwork(request.from.address)}`;
      const expiresAt = new Date(now.getTime() + resetMs);
      await insert(tx, { kind: resetRequestKind, lane, content: request, expiresAt, now });
    },
    link: (path, token) => `${publicUrl}/${path}#token=${encodeURIComponent(token)}`,
    page: (path) => `${publicUrl}${path}`,
    queuedMs: () => queuedMs,
  };
}

export const resetRequestKind = "password_reset_request";

/** The kinds of rows of the queue. */
export const mailKinds: readonly string[] = Object.keys({
  invite: true,
  password_reset: true,
  password_changed: true,
  factor_added: true,
  factors_reset: true,
  recovery_codes_rotated: true,
  notification: true,
  [resetRequestKind]: true,
} satisfies Record<Mail["kind"] | typeof resetRequestKind, true>);

/** Where a request came from, as people read it. */
export const originOf = ({ clientAddress, userAgent }: RequestMeta): Origin => ({
  address: clientAddress,
  device: deviceName(userAgent),
});
