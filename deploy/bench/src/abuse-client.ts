// The hostile side of the abuse bench: argv = gateway port, API key of a tenant that verifies. "start" begins, "stop"
// ends and answers what came back. Everything goes to 127.0.0.1 and is bounded: 10 headers a second, 1,200 connections,
// 1,000 verifications.
import { connect, type Socket } from "node:net";

const [port = "", key = ""] = process.argv.slice(2);
const slowBodies = 1_200;
const headersPerSecond = 10;
const verifications = 1_000;
const verifyingAtOnce = 20;

export type Abuse = Record<string, number>;

const seen: Abuse = {};
const count = (name: string) => {
  seen[name] = (seen[name] ?? 0) + 1;
};
const sockets = new Set<Socket>();
let running = false;

const head = (path: string, length: number, type = "application/json") =>
  `POST /api/v1${path} HTTP/1.1\r\nHost: bench\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n`;

function open(name: string, bytes: string): Socket {
  const socket = connect(Number(port), "127.0.0.1");
  sockets.add(socket);
  socket.once("data", (chunk) => count(`${name} ${String(chunk).slice(9, 12)}`));
  socket.on("error", () => count(`${name} cut`));
  socket.once("close", () => sockets.delete(socket));
  socket.write(bytes);
  return socket;
}

/** Sends a body of 900 bytes at one byte per second, and the next one when the gateway has refused it. */
function slowBody(index: number): void {
  if (!running) return;
  const path = index % 4 === 0 ? "/agents/enroll" : "/auth/refresh";
  const socket = open("slow body", `${head(path, 900)}\r\n{`);
  const drip = setInterval(() => socket.write(" "), 1_000);
  socket.once("close", () => {
    clearInterval(drip);
    setTimeout(slowBody, 100, index);
  });
}

async function verifyAll(): Promise<void> {
  let next = 1;
  const one = async () => {
    while (running && next <= verifications) {
      const reply = await fetch(`http://127.0.0.1:${port}/api/v1/audit-logs/verify`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": key },
        body: JSON.stringify({ from: next++ }),
      });
      await reply.arrayBuffer();
      count(`verification ${reply.status}`);
    }
  };
  await Promise.all(Array.from({ length: verifyingAtOnce }, one));
}

let verifying = Promise.resolve();
let headers: NodeJS.Timeout | undefined;

process.on("message", async (message: "start" | "stop") => {
  if (message === "start") {
    running = true;
    for (let i = 0; i < slowBodies; i++) setTimeout(slowBody, i, i);
    const hostile = `application/json${" ".repeat(15_800)}x`;
    headers = setInterval(() => {
      open("hostile header", `${head("/auth/login", 2, hostile)}Connection: close\r\n\r\n{}`);
    }, 1_000 / headersPerSecond);
    verifying = verifyAll().catch(() => count("verification failed"));
    return;
  }
  running = false;
  clearInterval(headers);
  await verifying;
  for (const socket of sockets) socket.destroy();
  process.send?.(seen);
});
process.send?.("ready");
