import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError, type Logger } from "@muster/kit";
import { oneLine, type SealedMail } from "../rules/mail-texts.ts";

export type OutgoingMail = SealedMail & { id: string; kind: string };

/** Hands a mail over. Throws MailRefused when trying again is useless, anything else when it is not. */
export type Delivery = { send(mail: OutgoingMail): Promise<void>; close(): void };

/** Connections to the mail server: a mail whose recipient's server hangs holds one for up to a minute. */
export const mailsAtOnce = 5;

/** The server rejected the mail permanently. */
export class MailRefused extends Error {}

export type MailSettings = {
  NODE_ENV: string;
  SMTP_URL?: string | undefined;
  MAIL_FROM?: string | undefined;
  MAIL_DIR?: string | undefined;
};

/**
 * By SMTP where SMTP_URL is set; else, outside production, into the development mailbox MAIL_DIR and the log. Null in
 * production without SMTP_URL: mail stays queued in its table. Throws ConfigError on an invalid address, and on
 * MAIL_DIR in production.
 */
export function mailDelivery(settings: MailSettings, publicUrl: string, log: Logger): Delivery | null {
  const { NODE_ENV, SMTP_URL, MAIL_DIR } = settings;
  const host = new URL(publicUrl).hostname;
  const from = settings.MAIL_FROM ?? `Muster <muster@${host}>`;
  if (NODE_ENV === "production" && MAIL_DIR) {
    throw new ConfigError(["MAIL_DIR keeps mails in clear; in production set SMTP_URL instead"]);
  }
  if (SMTP_URL) return smtp(SMTP_URL, from, host);
  if (NODE_ENV === "production") {
    log.warn("no SMTP_URL: invitations and password links are not sent, they wait in the table mail");
    return null;
  }
  return mailbox(MAIL_DIR ?? null, from, log);
}

function smtp(url: string, from: string, host: string): Delivery {
  if (!URL.canParse(url) || !/^smtps?:$/.test(new URL(url).protocol)) {
    throw new ConfigError(["SMTP_URL: must be smtp://[user:password@]host[:port] or smtps://…"]);
  }
  const timeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };
  // Loaded with the first mail.
  const open = async () => {
    const { createTransport } = await import("nodemailer");
    return createTransport({ url, pool: true, maxConnections: mailsAtOnce, ...timeouts }, { from });
  };
  let opened: ReturnType<typeof open> | null = null;
  return {
    async send({ id, to, subject, text, html }) {
      try {
        // The same id for every attempt: a recipient of the mail before a crash can detect the repeat.
        opened ??= open();
        const transport = await opened;
        await transport.sendMail({ to, subject, text, html, messageId: `<${id}@${host}>` });
      } catch (error) {
        const { code, responseCode = 0, message } = error as { code?: string; responseCode?: number; message: string };
        const isAboutThisMail = code === "EENVELOPE" || code === "EMESSAGE";
        if (isAboutThisMail && responseCode >= 500) throw new MailRefused(message, { cause: error });
        throw error;
      }
    },
    close: () => void opened?.then((transport) => transport.close()),
  };
}

/**
 * One file per mail, named by time and kind, for the developer at this machine; without a folder, the log.
 */
function mailbox(directory: string | null, from: string, log: Logger): Delivery {
  return {
    async send({ id, kind, to, subject, text }) {
      if (directory === null) {
        const [link = null] = /https?:\/\/\S+/.exec(text) ?? [];
        log.info({ kind, to: to.address, subject, link }, "mail (no SMTP_URL)");
        return;
      }
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const head = `From: ${from}\nTo: ${oneLine(to.name)} <${to.address}>\nSubject: ${subject}\n\n`;
      // Version 7 ids sort by time.
      const file = join(directory, `${id}-${kind}.txt`);
      await writeFile(file, head + text, { mode: 0o600 });
      log.info({ kind, file }, "mail is in the development mailbox (no SMTP_URL)");
    },
    close: () => undefined,
  };
}
