// Sign-ins of the logins bench: argv = port, e-mail, password, clients. From the first message to the second they sign
// in over and over, each on its own connection; a refused client waits for its Retry-After. Answers {answered, busy}.
// Requests are bytes made beforehand, so that on the shared cores the clients cost next to nothing.
import { once } from "node:events";
import { connect, type Socket } from "node:net";

const [port = "", email = "", password = "", clients = ""] = process.argv.slice(2);
const body = JSON.stringify({ email, password });
const head = [
  "POST /api/v1/auth/login HTTP/1.1",
  `Host: 127.0.0.1:${port}`,
  "User-Agent: muster-bench/1.0",
  "Content-Type: application/json",
  `Content-Length: ${Buffer.byteLength(body)}`,
];
const bytes = Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);

export type SignIns = { answered: number; busy: number };

const done: SignIns = { answered: 0, busy: 0 };
const sockets: Socket[] = [];
const timers = new Set<NodeJS.Timeout>();

function client(): void {
  const socket = connect({ host: "127.0.0.1", port: Number(port), noDelay: true });
  let reply = "";
  sockets.push(socket);
  socket.setEncoding("latin1");
  socket.once("connect", () => socket.write(bytes));
  socket.once("error", (error) => {
    throw error;
  });
  socket.on("data", (text: string) => {
    reply += text;
    const headEnd = reply.indexOf("\r\n\r\n");
    const length = /content-length: (\d+)/i.exec(reply)?.[1];
    if (headEnd < 0 || reply.length < headEnd + 4 + Number(length)) return;
    const isIn = reply.startsWith("HTTP/1.1 200 ");
    const waitMs = isIn ? 0 : Number(/retry-after: (\d+)/i.exec(reply)?.[1] ?? 1) * 1_000;
    reply = "";
    done[isIn ? "answered" : "busy"] += 1;
    const timer = setTimeout(() => {
      timers.delete(timer);
      socket.write(bytes);
    }, waitMs);
    timers.add(timer);
  });
}

process.send?.("ready");
await once(process, "message");
for (let i = 0; i < Number(clients); i++) client();
await once(process, "message");
for (const timer of timers) clearTimeout(timer);
for (const socket of sockets) socket.destroy();
process.send?.(done, () => process.disconnect());
