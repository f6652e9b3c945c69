import { createServer as createHttp, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttps } from "node:https";
import type { AddressInfo } from "node:net";
import { testCertificate } from "@muster/testing";

/** The parent's requests and the replies. */
export type ReceiverAsk = { type: "reset" } | { type: "counts" } | { type: "ids" } | { type: "hang"; ports: number[] };
export type ReceiverCounts = {
  requests: number;
  connections: number;
  /** Requests that said they may be repeats, and ids seen more than once without saying so. */
  flagged: number;
  silentRepeats: number;
  distinct: number;
  /** Port, and milliseconds from the event's own time to its arrival there. */
  latencies: [port: number, ms: number][];
  cpuUs: number;
};

/**
 * A separate process: `origins` listeners that answer 200 to everything, HTTPS with the test CA's certificate when
 * asked. Records ids only on request, since that costs more than answering.
 */
const [origins = "50", scheme = "http", remember = ""] = process.argv.slice(2);
const hanging = new Set<number>();
let counts = fresh();
const seen = new Map<string, number>();
/** `<port> <event id>` of everything that arrived. */
const arrivals = new Set<string>();

function fresh() {
  return { requests: 0, connections: 0, flagged: 0, silentRepeats: 0, latencies: [] as [number, number][] };
}

function onRequest(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    if (hanging.has(request.socket.localPort ?? 0)) return;
    counts.requests += 1;
    const id = String(request.headers["x-service-delivery-id"] ?? "");
    const isFlagged = request.headers["x-service-possible-duplicate"] === "true";
    const isRetry = request.headers["x-service-attempt"] !== "1";
    if (isFlagged) counts.flagged += 1;
    if (remember) {
      const before = seen.get(id) ?? 0;
      if (before > 0 && !isFlagged && !isRetry) counts.silentRepeats += 1;
      seen.set(id, before + 1);
      arrivals.add(`${request.socket.localPort} ${request.headers["x-service-event-id"]}`);
      const text = Buffer.concat(chunks).toString();
      const at = /"timestamp" ?: ?"([^"]+)"/.exec(text)?.[1];
      if (at && !isRetry) counts.latencies.push([request.socket.localPort ?? 0, Date.now() - Date.parse(at)]);
    }
    response.writeHead(200).end("ok");
  });
}

const ports: number[] = [];
for (let n = 0; n < Number(origins); n++) {
  const server = scheme === "https" ? createHttps(testCertificate(), onRequest) : createHttp(onRequest);
  server.keepAliveTimeout = 65_000;
  server.on(scheme === "https" ? "secureConnection" : "connection", () => {
    counts.connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ports.push((server.address() as AddressInfo).port);
}

process.on("message", (message: ReceiverAsk) => {
  if (message.type === "reset") {
    counts = fresh();
    seen.clear();
  }
  if (message.type === "hang") for (const port of message.ports) hanging.add(port);
  if (message.type === "ids") process.send?.({ type: "ids", ids: [...arrivals] });
  if (message.type === "counts") {
    const { user, system } = process.cpuUsage();
    process.send?.({ type: "counts", ...counts, distinct: seen.size, cpuUs: user + system });
    counts.latencies = [];
  }
});
process.on("disconnect", () => process.exit());
process.send?.({ type: "ready", ports });
