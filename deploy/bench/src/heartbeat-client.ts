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

type Lane = { socket: Socket; sentMs: number; pending: Buffer };

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

function send(lane: Lane): void {
  lane.sentMs = performance.now();
  lane.socket.write(requests[next++ % requests.length] as Buffer);
}

function hear(lane: Lane, data: Buffer): void {
  lane.pending = lane.pending.length === 0 ? data : Buffer.concat([lane.pending, data]);
  const size = replyBytes(lane.pending);
  if (size === 0 || lane.pending.length < size) return;
  const isTaken = lane.pending[9] === 0x32;
  lane.pending = nothing;
  const nowMs = performance.now();
  if (isTaken) samples.push(nowMs - lane.sentMs);
  else refused++;
  if (nowMs < endsMs) send(lane);
  else if (--running === 0) onDone();
}

const lanes = await Promise.all(
  Array.from({ length: Number(connections) }, async (): Promise<Lane> => {
    const socket = connect({ host: "127.0.0.1", port: Number(port), noDelay: true });
    await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    const lane = { socket, sentMs: 0, pending: nothing };
    socket.on("data", (data) => hear(lane, data));
    // A round ends with the last lane: one that ended without its reply would hold the bench for ever.
    socket.on("error", fail);
    socket.on("close", () => fail(new Error("the gateway closed a connection")));
    return lane;
  }),
);

process.on("message", ({ ms }: { ms: number }) => {
  samples = [];
  refused = 0;
  running = lanes.length;
  const startedMs = performance.now();
  endsMs = startedMs + ms;
  onDone = () => {
    const seconds = (performance.now() - startedMs) / 1000;
    samples.sort((a, b) => a - b);
    const at = (share: number) => samples[Math.min(samples.length - 1, Math.floor(samples.length * share))] ?? 0;
    process.send?.({ heartbeats: samples.length, refused, seconds, p50: at(0.5), p95: at(0.95), p99: at(0.99) });
  };
  for (const lane of lanes) send(lane);
});
process.send?.("ready");
