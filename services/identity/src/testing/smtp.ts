import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

export type Received = { from: string; to: string; raw: string; text: string; link: string; token: string };

/**
 * A real SMTP server on its own port that stores the mails it receives; `refuse` rejects a recipient with that code.
 */
export async function startSmtp() {
  const received: Received[] = [];
  let refuse: number | null = null;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    // Milliseconds that a close waits for clients which keep their connection; the default are 30 s.
    closeTimeout: 100,
    onRcptTo: (_address, _session, done) =>
      done(refuse === null ? null : Object.assign(new Error("refused by the test"), { responseCode: refuse })),
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        const raw = Buffer.concat(chunks).toString();
        const text = decoded(raw);
        const [link = ""] = /https:\/\/\S+/.exec(text) ?? [];
        const token = URL.canParse(link) ? (new URLSearchParams(new URL(link).hash.slice(1)).get("token") ?? "") : "";
        received.push({ from: mailFrom ? mailFrom.address : "", to: rcptTo[0]?.address ?? "", raw, text, link, token });
        done();
      });
    },
  });
  // A client that hangs up is not the server's failure.
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    to: (email: string) => received.filter(({ to }) => to === email),
    refuse(code: number | null) {
      refuse = code;
    },
    close: () => new Promise<void>((resolve) => server.close(resolve)),
  };
}

/** The plain-text part as people read it (RFC 2046, RFC 2045: quoted-printable or as it stands). */
function decoded(raw: string): string {
  const [, boundary = ""] = /boundary="?([^"\r\n;]+)/.exec(raw) ?? [];
  // By the whole boundary: a text may have a line that begins with two hyphens.
  const parts = boundary === "" ? [raw] : raw.split(`\r\n--${boundary}`);
  const part = parts.find((each) => each.includes("Content-Type: text/plain")) ?? raw;
  return part
    .slice(part.indexOf("\r\n\r\n") + 4)
    .replace(/=\r\n/g, "")
    .replace(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
