// Load side of the HTTP benches: argv = port, access token, connections, path. Each message {ms} is one round; answers
// {requests, …}. `@file` in place of the token names a file of credential header lines: one is used over and over,
// several once each.
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";

const [port = "", token = "", connections = "", path = "/api/v1/auth/me"] = process.argv.slice(2);
const credentials = token.startsWith("@")
  ? readFileSync(token.slice(1), "utf8").split("\n")
  : [`Authorization: Bearer ${token}`];

/** Bound of the requests, and so of the samples, of a round. */
const maxRequests = 1_000_000;
const requestWith = (credential: string) =>
  Buffer.from(
    [
      `GET ${path} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      "User-Agent: muster-bench/1.0",
      "Accept: application/json",
      credential,
      "",
      "",
    ].join("\r\n"),
  );
const requests = credentials.map(requestWith);
let next = 0;
const headEnd = Buffer.from("\r\n\r\n");

type Connection = { socket: Socket; sentMs: number; pending: Buffer | null };

let samples = new Float64Array(maxRequests);
let made = 0;
let endsMs = 0;
let running = 0;
let onDone: () => void = () => {};

function fail(why: string): never {
  throw new Error(why);
}

const lengthName = Buffer.from("Content-Length: ");

/** Bytes of the reply that begins here, head and body; 0 while its head is not whole. */
function replyBytes(bytes: Buffer): number {
  const end = bytes.indexOf(headEnd);
  if (end < 0) return 0;
  if (bytes[9] !== 0x32) fail(`unexpected reply: ${bytes.toString("latin1", 0, end)}`);
  const at = bytes.indexOf(lengthName);
  if (at < 0 || at > end) fail(`reply without Content-Length: ${bytes.toString("latin1", 0, end)}`);
  let length = 0;
  for (let i = at + lengthName.length; bytes[i] !== 0x0d; i++) length = length * 10 + (bytes[i] as number) - 0x30;
  return end + headEnd.length + length;
}

function send(connection: Connection): void {
  connection.sentMs = performance.now();
  const request = requests.length === 1 ? requests[0] : requests[next++];
  connection.socket.write(request ?? fail("there are not enough credentials for these rounds"));
}

function onData(connection: Connection, chunk: Buffer): void {
  const bytes = connection.pending === null ? chunk : Buffer.concat([connection.pending, chunk]);
  const wanted = replyBytes(bytes);
  if (wanted === 0 || bytes.length < wanted) {
    connection.pending = bytes;
    return;
  }
  if (bytes.length > wanted) fail("more came than one reply");
  connection.pending = null;
  const nowMs = performance.now();
  if (made < maxRequests) samples[made++] = (nowMs - connection.sentMs) * 1000;
  if (nowMs < endsMs && made < maxRequests) send(connection);
  else if (--running === 0) onDone();
}

function open(): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(port), host: "127.0.0.1", noDelay: true }, () => resolve(connection));
    const connection: Connection = { socket, sentMs: 0, pending: null };
    socket.on("error", reject);
    socket.on("data", (chunk) => onData(connection, chunk));
    socket.on("close", () => {
      if (running > 0) fail("a connection was closed during a round");
    });
  });
}

const opened = await Promise.all(Array.from({ length: Number(connections) }, open));
process.send?.({ open: opened.length });

process.on("message", ({ ms }: { ms: number }) => {
  samples = new Float64Array(maxRequests);
  made = 0;
  running = opened.length;
  const startedMs = performance.now();
  endsMs = startedMs + ms;
  onDone = () => {
    const seconds = (performance.now() - startedMs) / 1000;
    const sorted = samples.subarray(0, made).sort();
    const at = (quantile: number) => sorted[Math.min(made - 1, Math.floor(made * quantile))] ?? 0;
    process.send?.({ requests: made, seconds, p50: at(0.5), p95: at(0.95), p99: at(0.99) });
  };
  for (const connection of opened) {
    if (connection.socket.destroyed) fail("a connection was closed between rounds");
    send(connection);
  }
});
process.on("disconnect", () => process.exit());
