import { describe, expect, it } from "@jest/globals";
import { type Mail, mailText, unlinked } from "./mail-texts.ts";

const to = { email: "ada@example.com", name: 'Ada <b>&"quoted"</b>' };
const from = { address: "192.0.2.1", device: "Firefox on Linux" };
const at = new Date("2030-01-02T03:04:05Z");
const mails: Mail[] = [
  { kind: "invite", to, invitedBy: "Grace <script>", link: "https://x.example/accept-invite#token=a&b", expiresAt: at },
  { kind: "password_reset", to, link: "https://x.example/reset-password#token=t", expiresAt: at, from },
  { kind: "password_changed", to, at, from },
  { kind: "factor_added", to, factor: "passkey", at, from: { address: null, device: "curl/8" } },
  { kind: "factors_reset", to, at },
  { kind: "recovery_codes_rotated", to, at, from },
];

describe("a mail of notifications", () => {
  const digest = {
    subject: "Audit alerts",
    opening: "These audit alerts have fired:",
    lines: [
      { text: "evil.example <b>has\nfired", url: "https://x.example/audit?a=1&b=2" },
      { text: "Two", url: null },
    ],
    others: 3,
    unsubscribe: "https://x.example/unsubscribe#token=t",
  };
  it("lists its lines with their links, counts the others, and ends with the link that ends such mails", () => {
    const { subject, text, html } = mailText({ kind: "notification", to, digest });
    expect(subject).toBe("Muster: Audit alerts");
    expect(text).toContain("- evil. example <b>has fired\n  https://x.example/audit?a=1&b=2\n- Two\n\nAnd 3 more.");
    expect(text.trimEnd().endsWith(digest.unsubscribe)).toBe(true);
    expect(html).not.toMatch(/<b>|evil\.example/);
    expect(html.match(/<a /g)).toHaveLength(2);
  });
});

describe("a mail", () => {
  it.each(mails.map((mail) => [mail.kind, mail] as const))(
    "%s says it in text and in HTML, values escaped",
    (_kind, mail) => {
      const { subject, text, html, link } = mailText(mail);
      expect(subject).not.toMatch(/[\r\n]/);
      expect(text).toContain(to.name);
      expect(text).toContain("2030-01-02 03:04 UTC");
      expect(html).not.toMatch(/<b>|<script>|"quoted"/);
      if ("link" in mail) {
        expect([link, text.includes(mail.link)]).toEqual([mail.link, true]);
        expect(html).toContain(`href="${mail.link.replace("&", "&#38;")}"`);
      } else expect(html).not.toContain("<a ");
    },
  );

  it.each([
    "https://evil.example/login",
    "evil.example",
    "www.evil.example",
    "HTTP:\\\\evil.example",
    "call evil@evil.example",
    "evil。example",
    "evil．example／x",
    "mailto:evil@evil.example",
    "tel:+4912345",
  ])("makes no link of the name %s, in text nor in HTML", (name) => {
    const mail = mailText({
      kind: "invite",
      to: { email: "ada@example.com", name },
      invitedBy: name,
      link: "https://x.example/accept-invite#token=t",
      expiresAt: at,
    });
    const others = mails.slice(1).map((each) => mailText({ ...each, to: { email: "ada@example.com", name } }));
    const isLink = /[a-z][a-z0-9+.-]*:[^\s]|[^\s@]+@[^\s@]+|[^\s.]\.[^\s.]|。\S/iu;
    for (const { text, html, link } of [mail, ...others]) {
      const own = link === null ? [] : [link];
      const words = own
        .reduce((rest, url) => rest.replaceAll(url, ""), text)
        .replace(/\b192\.0\.2\.1\b|\d\d:\d\d/g, "");
      expect(words).not.toMatch(isLink);
      expect((html.match(/<a /g) ?? []).length).toBe(own.length);
      expect(html.replace(/<[^>]*>/g, "").replace(/192\.0\.2\.1|\d\d:\d\d/g, "")).not.toMatch(isLink);
    }
  });

  it("leaves other names unchanged", () => {
    const name = "Dr. Ada Lovelace-King III, O’Brien & Söhne";
    expect(mailText({ kind: "password_changed", to: { email: "a@example.com", name }, at, from }).text).toContain(name);
  });

  it("leaves instants unchanged, and no name behind one as a link", () => {
    const line = 'Webhook "Hook" is failing: 5 attempts in a row failed since 2026-01-31T12:00:00.000Z.';
    expect(unlinked(line)).toBe(line);
    expect(unlinked("evil.2026-01-31T12:00:00.000Z.example")).toBe("evil. 2026-01-31T12:00:00.000Z. example");
  });

  it("has no line that a name or a device controls", () => {
    const lines = "Ada\r\n\r\nYour account is locked\u2028now";
    const { text } = mailText({
      kind: "invite",
      to: { ...to, name: lines },
      invitedBy: lines,
      link: "https://x.example/accept-invite#token=t",
      expiresAt: at,
    });
    expect(text).toContain("Hello Ada Your account is locked now,\n");
    expect(text).toContain("\nAda Your account is locked now invites you");
  });
});
