import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listening } from "@muster/testing";

/** A request as the receiver got it. */
export type Received = {
  /** Milliseconds of the monotonic clock, when the body was whole. */
  atMs: number;
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
};

export type Answer = (received: Received, response: ServerResponse) => void;

export type Receiver = {
  port: number;
  received: Received[];
  /** Its requests for one event, in the order in which they came. */
  of(eventId: string): Received[];
  /** Most requests that were open together. */
  busiest(): number;
  answer(answer: Answer): void;
  close(): Promise<void>;
};

/** A receiver on a loopback port that records its requests; answers 200 by default. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  let answer: Answer = (_received, response) => void response.writeHead(200).end("ok");
  let open = 0;
  let busiest = 0;
  const server = createServer((request, response) => {
    open += 1;
    busiest = Math.max(busiest, open);
    response.once("close", () => {
      open -= 1;
    });
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      const item = { atMs: performance.now(), path: request.url ?? "", headers: request.headers, body };
      received.push(item);
      answer(item, response);
    });
  });
  const { port, close } = await listening(server);
  return {
    port,
    received,
    of: (eventId) => received.filter(({ headers }) => headers["x-service-event-id"] === eventId),
    busiest: () => busiest,
    answer(next) {
      answer = next;
    },
    close,
  };
}
