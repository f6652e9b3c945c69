// Load side of the http bench: argv = port, access token, connections. Each message {ms} is one round; answers {requests, …}.
import { connect, type Socket } from "node:net";

const [port = "", token = "", connections = ""] = process.argv.slice(2);

/** Bound of the requests, and so of the samples, of a round. */
const maxRequests = 1_000_000;
const request = Buffer.from(
  [
    "GET /api/v1/auth/me HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    "User-Agent: muster-bench/1.0",
    "Accept: application/json",
    `Authorization: Bearer ${token}`,
    "",
    "",
  ].join("\r\n"),
);
const headEnd = Buffer.from("\r\n\r\n");

type Lane = { socket: Socket; sentMs: number; pending: Buffer | null };

/** Bytes of one reply: all replies of a server have the same length, so its head is read once. */
let replyBytes = 0;
let samples = new Float64Array(maxRequests);
let made = 0;
let endsMs = 0;
let running = 0;
let onDone: () => void = () => {};

function fail(why: string): never {
  throw new Error(why);
}

function measureReply(bytes: Buffer): number {
  const end = bytes.indexOf(headEnd);
  if (end < 0) return 0;
  const head = bytes.toString("latin1", 0, end);
  if (!head.startsWith("HTTP/1.1 200 ")) fail(`unexpected reply: ${head}`);
  const length = /^content-length: (\d+)$/im.exec(head)?.[1] ?? fail("reply without content-length");
  return end + headEnd.length + Number(length);
}

function send(lane: Lane): void {
  lane.sentMs = performance.now();
  lane.socket.write(request);
}

function onData(lane: Lane, chunk: Buffer): void {
  const bytes = lane.pending === null ? chunk : Buffer.concat([lane.pending, chunk]);
  if (replyBytes === 0) replyBytes = measureReply(bytes);
  if (replyBytes === 0 || bytes.length < replyBytes) {
    lane.pending = bytes;
    return;
  }
  if (bytes.length > replyBytes || bytes[9] !== 0x32) fail("a reply differs from the first one");
  lane.pending = null;
  const nowMs = performance.now();
  if (made < maxRequests) samples[made++] = (nowMs - lane.sentMs) * 1000;
  if (nowMs < endsMs && made < maxRequests) send(lane);
  else if (--running === 0) onDone();
}

function open(): Promise<Lane> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(port), host: "127.0.0.1", noDelay: true }, () => resolve(lane));
    const lane: Lane = { socket, sentMs: 0, pending: null };
    socket.on("error", reject);
    socket.on("data", (chunk) => onData(lane, chunk));
    socket.on("close", () => {
      if (running > 0) fail("a connection was closed during a round");
    });
  });
}

const lanes = await Promise.all(Array.from({ length: Number(connections) }, open));
process.send?.({ open: lanes.length });

process.on("message", ({ ms }: { ms: number }) => {
  samples = new Float64Array(maxRequests);
  made = 0;
  running = lanes.length;
  const startedMs = performance.now();
  endsMs = startedMs + ms;
  onDone = () => {
    const seconds = (performance.now() - startedMs) / 1000;
    const sorted = samples.subarray(0, made).sort();
    const at = (quantile: number) => sorted[Math.min(made - 1, Math.floor(made * quantile))] ?? 0;
    process.send?.({ requests: made, seconds, p50: at(0.5), p95: at(0.95), p99: at(0.99) });
  };
  for (const lane of lanes) send(lane);
});
process.on("disconnect", () => process.exit());
