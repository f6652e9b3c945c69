import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer as createPlain, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createSecure } from "node:https";
import { hostname } from "node:os";
import type { EventName } from "@muster/client";
import { connect } from "../connection.ts";
import { done, exits, Failure, wrongUsage } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { type Forward, receive, type Seen } from "../receiver.ts";
import { visible } from "../table.ts";

export type ListenOptions = Globals & {
  org?: string;
  events: string;
  port: string;
  address?: string;
  cert?: string;
  key?: string;
  forwardTo?: string;
  count?: string;
  test?: boolean;
};

/** The name under which the cluster of `npm start` may reach this machine, on the default port. */
export const listenerHost = "muster-listen.test";

/**
 * Makes a webhook to a receiver on this machine, shows and verifies what arrives until it is interrupted or `count`
 * deliveries came, and removes the webhook.
 */
export async function listen(io: Io, options: ListenOptions): Promise<void> {
  const { muster } = connect(io, options, ["DELETE /api/v1/webhooks/{id}"]);
  const secret = `whsec_${randomBytes(24).toString("base64")}`;
  const most = options.count === undefined ? Number.POSITIVE_INFINITY : wholeNumber("--count", options.count);
  const end = untilInterrupted();
  let count = 0;
  const shown = (seen: Seen) => {
    // Further ones arrive until the webhook is removed.
    if (count >= most) return;
    io.stdout.write(options.json ? `${JSON.stringify(seen)}\n` : lineOf(seen));
    count += 1;
    if (count >= most) end.resolve();
  };
  const receiver = await open(options, receive({ secret, forward: forwardOf(options), shown }));
  try {
    const url = options.address ?? `${receiver.scheme}://${listenerHost}:${receiver.port}/`;
    const body = {
      name: `muster webhooks listen on ${hostname()}`.slice(0, 255),
      url,
      secret,
      // As typed: the API names what it does not know.
      events: options.events.split(",") as EventName[],
    };
    const webhook = await done(
      muster.POST("/api/v1/webhooks", { body: { ...body, ...(options.org ? { orgId: options.org } : {}) } }),
    ).catch(explain);
    const params = { path: { id: webhook.id } };
    try {
      io.stderr.write(`Webhook ${webhook.id} sends ${options.events} to ${url}. Ctrl-C removes it.\n`);
      if (options.test) await done(muster.POST("/api/v1/webhooks/{id}/test", { params }));
      await end.promise;
    } finally {
      await done(muster.DELETE("/api/v1/webhooks/{id}", { params }));
      io.stderr.write(`Removed the webhook after ${count} ${count === 1 ? "delivery" : "deliveries"}.\n`);
    }
  } finally {
    end.resolve();
    await receiver.close();
  }
}

function explain(error: unknown): never {
  if (!(error instanceof Failure) || error.body?.code !== "invalid_webhook_url") throw error;
  const hint =
    "the deployment does not reach this address. A local cluster does when it was started with " +
    "EGRESS_TEST_EXCEPTIONS=http://NAME:PORT=127.0.0.1 and the address is http://NAME:PORT/; for others pass the address of a tunnel with --address";
  throw new Failure(exits.failed, `${error.message}: ${hint}`, error.body);
}

function forwardOf({ forwardTo }: ListenOptions): Forward | null {
  if (forwardTo === undefined) return null;
  if (!URL.canParse(forwardTo)) throw wrongUsage(`--forward-to takes an address, not "${forwardTo}"`);
  return async (headers, body) => {
    const signal = AbortSignal.timeout(25_000);
    const reply = await fetch(forwardTo, {
      method: "POST",
      headers,
      body: new Uint8Array(body),
      signal,
      redirect: "manual",
    });
    await reply.body?.cancel();
    return reply.status;
  };
}

/** Signals end the wait, once; the next one of a kind ends the program. */
function untilInterrupted(): { promise: Promise<void>; resolve(): void } {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  let settle = () => {};
  const promise = new Promise<void>((resolve) => {
    settle = () => {
      for (const name of signals) process.off(name, settle);
      resolve();
    };
    for (const name of signals) process.once(name, settle);
  });
  return { promise, resolve: () => settle() };
}

type Receiver = { port: number; scheme: "http" | "https"; close(): Promise<void> };

async function open(
  { port, cert, key }: ListenOptions,
  take: (request: IncomingMessage) => Promise<number>,
): Promise<Receiver> {
  if ((cert === undefined) !== (key === undefined)) throw wrongUsage("--cert and --key go together");
  const answer: RequestListener = async (request, response) => {
    const status = await take(request).catch(() => 400);
    response.writeHead(status).end();
  };
  const server: Server =
    cert && key ? createSecure({ cert: readFileSync(cert), key: readFileSync(key) }, answer) : createPlain(answer);
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) =>
      reject(new Failure(exits.failed, `cannot listen on port ${port}: ${error.message}`)),
    );
    server.listen(wholeNumber("--port", port), "127.0.0.1", resolve);
  });
  return {
    port: Number(port),
    scheme: cert ? "https" : "http",
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
}

function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < 1) throw wrongUsage(`${option} takes a whole number from 1 on, not "${text}"`);
  return number;
}

function lineOf({ at, verified, type, eventId, attempt, possibleDuplicate, forwarded, data }: Seen): string {
  const facts = [
    at.slice(11, 23),
    verified ? "verified" : "NOT VERIFIED",
    visible(type),
    visible(eventId),
    `attempt ${attempt}`,
    ...(possibleDuplicate ? ["possible duplicate"] : []),
    ...(forwarded === null ? [] : [`→ ${forwarded}`]),
  ];
  return `${facts.join("  ")}\n  ${visible(JSON.stringify(data ?? null)).slice(0, 400)}\n`;
}
