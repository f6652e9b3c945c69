import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { listening, testCertificate } from "@muster/testing";
import { type Cluster, receiverHost } from "./cluster.ts";
import { takeReceiverPort } from "./receiver-port.ts";

export type Received = { atMs: number; headers: IncomingHttpHeaders; body: string };

export type Receiver = {
  /** Where webhooks of this cluster reach it. */
  url: string;
  received: Received[];
  answer(answer: (received: Received, response: ServerResponse) => void): void;
  close(): Promise<void>;
};

/** An HTTPS receiver with a certificate of the test CA, on one of the ports that the cluster lets webhooks reach. */
export async function startReceiver(cluster: Cluster): Promise<Receiver> {
  const { port, giveBack } = await takeReceiverPort(cluster);
  const received: Received[] = [];
  let answer: Parameters<Receiver["answer"]>[0] = (_received, response) => void response.end("ok");
  const server = createServer(testCertificate(), (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const item = { atMs: performance.now(), headers: request.headers, body: Buffer.concat(chunks).toString() };
      received.push(item);
      answer(item, response);
    });
  });
  const { close } = await listening(server, port);
  return {
    url: `https://${receiverHost}:${port}/hook`,
    received,
    answer(given) {
      answer = given;
    },
    async close() {
      await close();
      await giveBack();
    },
  };
}
