import { randomUUID } from "node:crypto";
import { open, readFile, rm } from "node:fs/promises";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { dirname, join } from "node:path";
import { expect } from "@jest/globals";
import { listening, testCertificate, until } from "@muster/testing";
import { type Cluster, receiverHost } from "./cluster.ts";

export type Received = { atMs: number; headers: IncomingHttpHeaders; body: string };

export type Receiver = {
  /** Where webhooks of this cluster reach it. */
  url: string;
  received: Received[];
  answer(answer: (received: Received, response: ServerResponse) => void): void;
  close(): Promise<void>;
};

export type ReceiverPort = { port: number; url: string; release(): Promise<void> };

/** Path of an address that no other suite has, nor another receiver of this one: `/webhooks/webhooks/5e0c…`. */
function ownPath(): string {
  const [, suite = "suite"] = /\/e2e\/(.*)\.test\.ts$/.exec(expect.getState().testPath ?? "") ?? [];
  return `/${suite}/${randomUUID().slice(0, 8)}`;
}

/** One of the ports that the cluster lets webhooks reach, for a test that listens there by itself. */
export async function claimReceiverPort(cluster: Cluster): Promise<ReceiverPort> {
  const folder = dirname(cluster.dataDir);
  const ports = JSON.parse(await readFile(join(folder, "receivers.json"), "utf8")) as number[];
  // Test files run concurrently: a port belongs to the process that created its file.
  const port = await until("a free port for a receiver", async () => {
    for (const each of ports) {
      try {
        await (await open(join(folder, `receiver-${each}`), "wx")).close();
        return each;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
    }
    return null;
  });
  const url = `https://${receiverHost}:${port}${ownPath()}`;
  return { port, url, release: () => rm(join(folder, `receiver-${port}`)) };
}

/**
 * An HTTPS receiver with a certificate of the test CA, on one of the ports that the cluster lets webhooks reach. What
 * is sent to an address of a suite before is refused and not recorded.
 */
export async function startReceiver(cluster: Cluster): Promise<Receiver> {
  const { port, url, release } = await claimReceiverPort(cluster);
  const received: Received[] = [];
  let answer: Parameters<Receiver["answer"]>[0] = (_received, response) => void response.end("ok");
  const { pathname } = new URL(url);
  const server = createServer(testCertificate(), (request, response) => {
    if (!request.url?.startsWith(pathname)) {
      response.writeHead(410).end();
      return;
    }
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
    url,
    received,
    answer(next) {
      answer = next;
    },
    async close() {
      await close();
      await release();
    },
  };
}
