// Load side of the heartbeat bench: argv = port, connections, file of "<agent id> <token>" lines. Each message {ms} is
// one round; answers {heartbeats, refused, seconds, p50, p95, p99} in milliseconds.
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";

const [port = "", connections = "", file = ""] = process.argv.slice(2);
const body = JSON.stringify({ agentVersion: "1.0.0", metrics: { "cpu.percent": 12 } });
const requests = readFileSync(file, "utf8")
  .trim()
  .split("\n")
  .map((line) => {
    const [id = "", token = ""] = line.split(" ");
    const head = [
      `POST /api/v1/agents/${id}/heartbeat HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      "User-Agent: muster-agent/1.0.0",
      `Authorization: Bearer ${token}`,
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
    ];
    return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
  });

type Connection = { socket: Socket; sentMs: number; pending: Buffer };

const headEnd = Buffer.from("\r\n\r\n");
const nothing = Buffer.alloc(0);
let next = 0;
let endsMs = 0;
let running = 0;
let refused = 0;
let samples: number[] = [];
let onDone: () => void = () => {};

function fail(error: Error): never {
  throw error;
}

/** Bytes of the reply that begins here; 0 while it is not whole. */
function replyBytes(bytes: Buffer): number {
  const end = bytes.indexOf(headEnd);
  if (end < 0) return 0;
  const length = /content-length: (\d+)/i.exec(bytes.toString("latin1", 0, end))?.[1];
  if (length === undefined) throw new Error("a reply without Content-Length");
  return end + headEnd.length + Number(length);
}

function send(connection: Connection): void {
  connection.sentMs = performance.now();
  connection.socket.write(requests[next++ % requests.length] as Buffer);
}

function receive(connection: Connection, data: Buffer): void {
  connection.pending = connection.pending.length === 0 ? data : Buffer.concat([connection.pending, data]);
  const size = replyBytes(connection.pending);
  if (size === 0 || connection.pending.length < size) return;
  const isTaken = connection.pending[9] === 0x32;
  connection.pending = nothing;
  const nowMs = performance.now();
  if (isTaken) samples.push(nowMs - connection.sentMs);
  else refused++;
  if (nowMs < endsMs) send(connection);
  else if (--running === 0) onDone();
}

const opened = await Promise.all(
  Array.from({ length: Number(connections) }, async (): Promise<Connection> => {
    const socket = connect({ host: "127.0.0.1", port: Number(port), noDelay: true });
    await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    const connection = { socket, sentMs: 0, pending: nothing };
    socket.on("data", (data) => receive(connection, data));
    // A round ends with the last connection: one that ended without its reply would hold the bench for ever.
    socket.on("error", fail);
    socket.on("close", () => fail(new Error("the gateway closed a connection")));
    return connection;
  }),
);

process.on("message", ({ ms }: { ms: number }) => {
  samples = [];
  refused = 0;
  running = opened.length;
  const startedMs = performance.now();
  endsMs = startedMs + ms;
  onDone = () => {
    const seconds = (performance.now() - startedMs) / 1000;
    samples.sort((a, b) => a - b);
    const at = (share: number) => samples[Math.min(samples.length - 1, Math.floor(samples.length * share))] ?? 0;
    process.send?.({ heartbeats: samples.length, refused, seconds, p50: at(0.5), p95: at(0.95), p99: at(0.99) });
  };
  for (const connection of opened) send(connection);
});
process.send?.("ready");
