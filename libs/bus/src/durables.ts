import { AppError, fieldsOf } from "@muster/kit";
import { AckPolicy, DeliverPolicy, type JetStreamManager, nanos, ReplayPolicy } from "nats";
import { assertConnected, type Connection } from "./connection.ts";
import { ackWaitMs } from "./delivery.ts";
import { busError, describe, isMissing, isUnanswered } from "./errors.ts";
import { streamOwner } from "./streams.ts";
import type { StreamName } from "./types.ts";

/**
 * What a reader may say about its durable. All else is the owner's: above all it has no subject of delivery, so that
 * its messages are pulled and pushed to nobody.
 */
export type DurableOrder = {
  /** `replace` deletes the present one; `update` keeps its position. */
  action: "create" | "replace" | "update";
  filterSubject: string;
  maxAckPending: number;
  /** ISO 8601, the time of the first message; null begins with the oldest one. An update ignores it. */
  from: string | null;
};

type Reply = { created: string } | { error: string };

const answerTimeoutMs = 5_000;
const mostAckPending = 100_000;

const subjectOf = (stream: StreamName, durable: string) => `durables.${stream}.${durable}`;

/**
 * Creates, replaces or updates a durable and returns its creation time. Only the owner of a stream may: others request
 * it. Throws AppError `unavailable` while the owner does not answer.
 */
export async function setDurable(
  connection: Connection,
  stream: StreamName,
  durable: string,
  order: DurableOrder,
): Promise<string> {
  const owner = streamOwner[stream];
  if (owner === connection.service) return await apply(connection.jsm, stream, durable, order);
  assertConnected(connection);
  const what = `durable ${durable} of ${stream}, which ${owner} creates`;
  let reply: Reply;
  try {
    const message = await connection.nc.request(subjectOf(stream, durable), JSON.stringify(order), {
      timeout: answerTimeoutMs,
    });
    reply = message.json<Reply>();
  } catch (error) {
    if (isUnanswered(error)) throw new AppError("unavailable", `${what}: no answer`, { cause: error });
    throw busError(what, error);
  }
  if ("error" in reply) throw new AppError("unavailable", `${what}: ${reply.error}`);
  return reply.created;
}

/** Answers the orders of a stream's other readers until the connection closes; one process of the owner takes each. */
export function serveDurables(connection: Connection, stream: StreamName): void {
  const { nc, jsm, log } = connection;
  nc.subscribe(subjectOf(stream, "*"), {
    queue: "owner",
    callback: (error, message) => {
      // A refused subscription is reported by the connection.
      if (error) return;
      const durable = message.subject.split(".").at(-1) ?? "";
      void answer(jsm, stream, durable, message.data).then((reply) => {
        if ("error" in reply) log.warn({ stream, durable, reason: reply.error }, "durable of a reader not set");
        if (!nc.isClosed()) message.respond(JSON.stringify(reply));
      });
    },
  });
}

async function answer(jsm: JetStreamManager, stream: StreamName, durable: string, bytes: Uint8Array): Promise<Reply> {
  const order = readOrder(bytes);
  if (!order) return { error: "not an order for a durable" };
  try {
    return { created: await apply(jsm, stream, durable, order) };
  } catch (error) {
    return { error: describe(error) };
  }
}

/** The order in a message, its known members only; null when it is none. */
export function readOrder(bytes: Uint8Array): DurableOrder | null {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
  const { action, filterSubject, maxAckPending, from } = fieldsOf(value);
  if (action !== "create" && action !== "replace" && action !== "update") return null;
  if (typeof filterSubject !== "string" || !/^[\w.*>-]{1,200}$/.test(filterSubject)) return null;
  if (typeof maxAckPending !== "number" || !Number.isInteger(maxAckPending)) return null;
  if (maxAckPending < 1 || maxAckPending > mostAckPending) return null;
  if (from !== null && (typeof from !== "string" || Number.isNaN(Date.parse(from)))) return null;
  return { action, filterSubject, maxAckPending, from };
}

async function apply(jsm: JetStreamManager, stream: string, durable: string, order: DurableOrder): Promise<string> {
  const { action, from } = order;
  const changeable = {
    ack_wait: nanos(ackWaitMs),
    max_ack_pending: order.maxAckPending,
    filter_subject: order.filterSubject,
  };
  if (action === "update") return (await jsm.consumers.update(stream, durable, changeable)).created;
  if (action === "replace") {
    await jsm.consumers.delete(stream, durable).catch((error: unknown) => {
      if (!isMissing(error, "consumer")) throw error;
    });
  }
  const made = await jsm.consumers.add(stream, {
    durable_name: durable,
    ack_policy: AckPolicy.Explicit,
    // Deliveries are counted by us: the server would drop the message silently.
    max_deliver: -1,
    replay_policy: ReplayPolicy.Instant,
    ...changeable,
    ...(from === null
      ? { deliver_policy: DeliverPolicy.All }
      : { deliver_policy: DeliverPolicy.StartTime, opt_start_time: from }),
  });
  return made.created;
}
