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
  /** The disk failed: what was sent is still in the spool, and is sent again. */
  failed?(error: unknown): void;
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
  const state = { most: linesMax, attempt: 0 };
  while (!stopping.stopped) {
    try {
      const pauseMs = await sendNext(deps, shipment, state, backoffMs);
      if (pauseMs > 0 && !stopping.stopped) await stopping.pause(pauseMs);
    } catch (error) {
      deps.failed?.(error);
      await stopping.pause(backoffMs(state.attempt++, null));
    }
  }
}

/** Sends one batch. Returns the milliseconds to wait before the next; throws the error of the disk. */
async function sendNext(
  deps: ShipperDeps,
  shipment: Shipment,
  state: { most: number; attempt: number },
  backoffMs: Backoff,
): Promise<number> {
  const batch = shipment.spool.next(state.most, bytesMax);
  if (batch === null) return idleMs;
  const reply = await send(deps.call, shipment, batch);
  if (reply.status === 200 || reply.status === 201) {
    batch.done();
    const count = refusedIn(reply);
    if (count > 0) deps.refused(count, "validation_failed");
    state.most = Math.min(linesMax, state.most * 2);
    state.attempt = 0;
    return 0;
  }
  if (reply.status === 413 || reply.status === 400) {
    state.most = shrink(deps, batch, reply);
    return 0;
  }
  return backoffMs(state.attempt++, reply.retryAfterMs);
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
