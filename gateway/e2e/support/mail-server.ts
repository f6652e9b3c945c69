import { SMTPServer } from "smtp-server";

/** A mail as it came, without the soft line breaks of quoted-printable. */
export type Letter = { to: string; raw: string };

/** A real SMTP server that keeps what it receives. */
export async function startMailServer(port: number): Promise<{ letters: readonly Letter[]; close(): Promise<void> }> {
  const letters: Letter[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    // Milliseconds that a close waits for clients which keep their connection; the default are 30 s.
    closeTimeout: 100,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const raw = Buffer.concat(chunks).toString().replace(/=\r\n/g, "").replace(/=3D/g, "=");
        letters.push({ to: session.envelope.rcptTo[0]?.address ?? "", raw });
        done();
      });
    },
  });
  // A client that hangs up is not the server's failure.
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return { letters, close: () => new Promise<void>((resolve) => server.close(() => resolve())) };
}
