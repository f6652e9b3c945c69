import { createHash } from "node:crypto";
import { fieldsOf } from "@muster/kit/agent";
import type { Call } from "./agent.ts";
import type { ApiReply } from "./api.ts";
import { type Backoff, backoffWith } from "./backoff.ts";
import type { Spool, SpoolBatch } from "./spool.ts";
import type { Stopping } from "./stopping.ts";

export type Shipment = {
  spool: Spool;
  method: "POST" | "PUT";
  path: "/logs" | "/eventlogs";
  /** Member of the body that holds the entries. */
  member: "logs" | "events";
};

export type ShipperDeps = {
  call: Call;
  stopping: Stopping;
  random?: () => number;
  /** Entries that the platform refused. */
  refused(count: number, reason: string): void;
};

const linesMax = 500;
/** Half of what a body may have. */
const bytesMax = 2 * 1024 * 1024;
const idleMs = 1_000;

/**
 * Sends what a spool holds, oldest first, until the process stops: what the platform did not accept stays in the spool,
 * unless it never would.
 */
export async function ship(deps: ShipperDeps, shipment: Shipment): Promise<void> {
  const { stopping, random = Math.random } = deps;
  const backoffMs: Backoff = backoffWith(random);
  let most = linesMax;
  let attempt = 0;
  while (!stopping.stopped) {
    const batch = shipment.spool.next(most, bytesMax);
    if (batch === null) {
      await stopping.pause(idleMs);
      continue;
    }
    const reply = await send(deps.call, shipment, batch);
    if (reply.status === 200 || reply.status === 201) {
      batch.done();
      const count = refusedIn(reply);
      if (count > 0) deps.refused(count, "validation_failed");
      most = Math.min(linesMax, most * 2);
      attempt = 0;
    } else if (reply.status === 413 || reply.status === 400) {
      most = shrink(deps, batch, reply);
    } else if (!stopping.stopped) {
      await stopping.pause(backoffMs(attempt++, reply.retryAfterMs));
    }
  }
}

function send(call: Call, { method, path, member }: Shipment, { lines, key }: SpoolBatch): Promise<ApiReply> {
  const entries = lines.map(entryOf);
  const id = createHash("sha256").update(key).update(lines.join("\n")).digest("hex").slice(0, 32);
  return call(method, path, { [member]: entries }, method === "POST" ? id : undefined);
}

/** A line that is damaged on the disk is sent as null, which the platform names in its refusal. */
function entryOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

/**
 * Returns how many lines to send next. A refusal that names entries drops the batch up to the last of them in the next
 * tries: the lines before the first named one are sent alone, then that one is dropped.
 */
function shrink({ refused }: ShipperDeps, batch: SpoolBatch, reply: ApiReply): number {
  const { length } = batch.lines;
  if (length === 1) {
    refused(1, reply.code || `status ${reply.status}`);
    batch.done();
    return 1;
  }
  const first = Math.min(...namedIn(reply), length);
  if (first === 0) {
    refused(1, reply.code);
    batch.done(1);
    return length;
  }
  return first < length ? first : Math.max(1, Math.floor(length / 2));
}

/** Number of entries that were refused beside stored ones. */
const refusedIn = ({ body: { refused } }: ApiReply): number => (Array.isArray(refused) ? refused.length : 0);

/** Indices of the entries that a refusal names, such as 17 of `logs.17.level`. */
function namedIn({ body }: ApiReply): number[] {
  return Object.keys(fieldsOf(fieldsOf(body.details).fieldErrors))
    .map((path) => Number(/^\w+\.(\d+)(\.|$)/.exec(path)?.[1]))
    .filter(Number.isSafeInteger);
}
