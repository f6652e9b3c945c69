/** A mail as its recipient reads it; both texts contain `link`. */
export type MailText = { subject: string; text: string; html: string; link: string | null };

export type Mail =
  | { kind: "invite"; to: Addressee; invitedBy: string; link: string; expiresAt: Date }
  | { kind: "password_reset"; to: Addressee; link: string; expiresAt: Date; from: Origin }
  | { kind: "password_changed"; to: Addressee; at: Date; from: Origin }
  | { kind: "factor_added"; to: Addressee; factor: "totp" | "passkey"; at: Date; from: Origin }
  | { kind: "factors_reset"; to: Addressee; at: Date }
  | { kind: "recovery_codes_rotated"; to: Addressee; at: Date; from: Origin }
  | { kind: "notification"; to: Addressee; digest: Digest };

/** What a mail of notifications lists; `others` counts the lines that it does not list. */
export type Digest = {
  subject: string;
  opening: string;
  lines: readonly { text: string; url: string | null }[];
  others: number;
  unsubscribe: string;
};

export type Addressee = { email: string; name: string };
/** Where it was done from, as far as known. */
export type Origin = { address: string | null; device: string };

/** Subject, text and HTML of a mail; only its values are inserted, and those are escaped. */
export function mailText(mail: Mail): MailText {
  switch (mail.kind) {
    case "invite":
      return written(
        "You are invited to Muster",
        [
          `Hello ${unlinked(mail.to.name)},`,
          `${unlinked(mail.invitedBy)} invites you to Muster. Choose a password to begin:`,
        ],
        { label: "Accept the invitation", url: mail.link },
        [`The link works once, until ${utc(mail.expiresAt)}.`, "If you expected no invitation, do nothing."],
      );
    case "password_reset":
      return written(
        "Set a new Muster password",
        [`Hello ${unlinked(mail.to.name)},`, `A new password was requested for this account (${whence(mail.from)}).`],
        { label: "Set a new password", url: mail.link },
        [
          `The link works once, until ${utc(mail.expiresAt)}. A new password ends all sessions.`,
          "If it was not you, do nothing: your password stays as it is.",
        ],
      );
    case "password_changed":
      return written(
        "Your Muster password was changed",
        [
          `Hello ${unlinked(mail.to.name)},`,
          `your password was changed on ${utc(mail.at)} (${whence(mail.from)}).`,
          "If it was not you, ask for a new password at once and tell your administrator.",
        ],
        null,
        [],
      );
    case "factor_added":
      return written(
        "A second factor was added to your Muster account",
        [
          `Hello ${unlinked(mail.to.name)},`,
          `${mail.factor === "totp" ? "An authenticator app" : "A passkey"} was added to your account on ${utc(mail.at)} (${whence(mail.from)}).`,
          "If it was not you, change your password at once and tell your administrator.",
        ],
        null,
        [],
      );
    case "factors_reset":
      return written(
        "The second factors of your Muster account were removed",
        [
          `Hello ${unlinked(mail.to.name)},`,
          `an administrator removed the second factors of your account on ${utc(mail.at)}. All sessions have ended.`,
          "Sign in again, and add a second factor in your profile. If you did not ask for this, tell your administrator.",
        ],
        null,
        [],
      );
    case "recovery_codes_rotated":
      return written(
        "Your Muster account has new recovery codes",
        [
          `Hello ${unlinked(mail.to.name)},`,
          `new recovery codes were made for your account on ${utc(mail.at)} (${whence(mail.from)}). The ones before no longer work.`,
          "If it was not you, change your password at once and tell your administrator.",
        ],
        null,
        [],
      );
    case "notification":
      return listed(mail.to, mail.digest);
    default:
      return mail satisfies never;
  }
}

/** A list, each line with its link, and the link that ends such mails. */
function listed(to: Addressee, { subject, opening, lines, others, unsubscribe }: Digest): MailText {
  const hello = `Hello ${unlinked(to.name)},`;
  const said = lines.map(({ text, url }) => ({ text: oneLine(unlinked(text)), url }));
  const rest = others > 0 ? [`And ${others} more.`] : [];
  const asText = said.map(({ text, url }) => `- ${text}${url === null ? "" : `\n  ${url}`}`);
  const end = "One mail an hour at most. To get no more of them:";
  const text = [hello, opening, asText.join("\n"), ...rest, `${end}\n${unsubscribe}`].join("\n\n");
  const anchor = (url: string, label: string) => `<a href="${escaped(url)}">${escaped(label)}</a>`;
  const item = ({ text: line, url }: (typeof said)[number]) =>
    `<li>${escaped(line)}${url === null ? "" : ` ${anchor(url, "Show")}`}</li>`;
  const body = [
    ...[hello, opening].map((line) => `<p>${escaped(line)}</p>`),
    `<ul>\n${said.map(item).join("\n")}\n</ul>`,
    ...rest.map((line) => `<p>${line}</p>`),
    `<p>${end} ${anchor(unsubscribe, "Unsubscribe")}</p>`,
  ].join("\n");
  return {
    subject: `Muster: ${subject}`,
    text: `${text}\n`,
    html: page(`Muster: ${subject}`, body),
    link: unsubscribe,
  };
}

const page = (subject: string, body: string) =>
  `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>${escaped(subject)}</title></head>\n<body>\n${body}\n</body></html>\n`;

function written(
  subject: string,
  before: readonly string[],
  button: { label: string; url: string } | null,
  after: readonly string[],
): MailText {
  const text = [...before, ...(button ? [button.url] : []), ...after].map(oneLine).join("\n\n");
  const paragraph = (line: string) => `<p>${escaped(line)}</p>`;
  const link = button ? `<p><a href="${escaped(button.url)}">${escaped(button.label)}</a></p>` : "";
  const body = [...before.map(paragraph), link, ...after.map(paragraph)].filter((line) => line !== "").join("\n");
  return { subject, text: `${text}\n`, html: page(subject, body), link: button?.url ?? null };
}

const utc = (at: Date) => `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
const whence = ({ address, device }: Origin) => (address === null ? device : `${device}, ${address}`);
/**
 * A name that no mail program turns into a link: they do so with addresses in any text, and the inviting user chooses
 * the name. The separators of an address get a space behind them: `evil. example`, `Dr. Smith`. An instant is none.
 */
export const unlinked = (name: string) =>
  name
    .normalize("NFKC")
    .replace(/(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)|([.:@\u3002])(?=\S)/g, (found, instant?: string) =>
      instant === undefined ? `${found} ` : found,
    );
/** Lines are ours alone, whatever a name brings. */
export const oneLine = (text: string) => text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ");
const escaped = (text: string) => oneLine(text).replace(/[&<>"']/g, (letter) => `&#${letter.codePointAt(0)};`);

/** Sealed content of a row: a rendered mail. */
export type SealedMail = { to: { address: string; name: string }; subject: string; text: string; html: string };
