import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { endpointsOfTenant } from "./webhooks-e2e-load.ts";

/**
 * When each delivery arrived first, in milliseconds of the monotonic clock that all processes of a machine share; 0:
 * not yet.
 */
export type Arrivals = { at: Float64Array; counts: Counts };
type Counts = { arrivals: number; repeats: number; silentRepeats: number; others: number };
export type ReceiverAsk =
  | { type: "reset"; run: string; hanging: readonly number[] }
  | { type: "arrivals"; events: number };

const capacity = Number(process.argv[2] ?? 300_000);
const at = new Float64Array(capacity * endpointsOfTenant);
const held = new Set<() => void>();
let counts: Counts;
let run = "";
let hanging: ReadonlySet<number> = new Set();

function reset(): void {
  at.fill(0);
  counts = { arrivals: 0, repeats: 0, silentRepeats: 0, others: 0 };
}
reset();

/**
 * A keep-alive receiver: endpoint e of tenant t is `/t/e`, an event's number is the first `"k":"<run>.<digits>"` of its
 * body.
 */
const server = createServer(
  { keepAliveTimeout: 120_000, headersTimeout: 0, requestTimeout: 0 },
  (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const now = Number(process.hrtime.bigint()) / 1e6;
      const [, tenant, endpoint] = (request.url ?? "").split("/").map(Number);
      const found = /"k":"(\w*)\.(\d+)/.exec(Buffer.concat(chunks).toString("latin1"));
      counts.arrivals += 1;
      if (found?.[1] !== run || tenant === undefined || endpoint === undefined) counts.others += 1;
      else {
        const index = Number(found[2]) * endpointsOfTenant + endpoint;
        const isRepeat = at[index] !== 0;
        if (isRepeat) counts.repeats += 1;
        else at[index] = now;
        const isFlagged = request.headers["x-service-possible-duplicate"] === "true";
        if (isRepeat && !isFlagged && request.headers["x-service-attempt"] === "1") counts.silentRepeats += 1;
        if (hanging.has(tenant * endpointsOfTenant + endpoint)) {
          const end = () => void response.destroy();
          held.add(end);
          response.once("close", () => held.delete(end));
          return;
        }
      }
      response.writeHead(200, { "content-length": 2 }).end("ok");
    });
  },
);
server.on("connection", (socket) => socket.on("error", () => undefined));

process.on("message", (message: ReceiverAsk) => {
  if (message.type === "reset") {
    run = message.run;
    hanging = new Set(message.hanging);
    reset();
    for (const end of held) end();
  }
  if (message.type === "arrivals") process.send?.({ at: at.slice(0, message.events * endpointsOfTenant), counts });
  else process.send?.(counts);
});
process.on("disconnect", () => process.exit());
server.listen(0, "127.0.0.1", 4_096, () => process.send?.({ port: (server.address() as AddressInfo).port }));
