import type { Relay } from "@muster/bus";
import {
  AppError,
  agentReplyBytes,
  counter,
  decodeAgentFrame,
  encodeAgentFrame,
  histogram,
  sleep,
  uuidv7,
} from "@muster/kit";
import { deviceError } from "../rules/device-error.ts";

/** A device's query; the agent protocol's terms (docs/agent-channel.md). */
export type Question = {
  deviceId: string;
  operation: "eventlogs.list" | "eventlogs.get" | "eventlogs.events" | "eventlogs.event";
  params: Record<string, unknown>;
  /** The querying caller, for the agent's own log. */
  principal: { type: string; id: string };
  /** The device is considered online: without an answer it may just be moving between gateways. */
  online: boolean;
  signal: AbortSignal;
};

export type LiveQueryDeps = {
  /** Null while the bus is not connected. */
  relay: () => Relay | null;
  timeoutMs: number;
};

/** The gateway sends a keep-alive every 2 s; without one for this long the gateway is considered dead. */
const gatewaySilenceMs = 5_000;
/** Milliseconds without any reply after which a query is repeated: it met a closing channel or a gateway that hangs. */
const acceptMs = 2_000;
/** The agent's deadline is earlier than the caller's by this. */
const reserveMs = 2_000;
const retryDelaysMs = [200, 300, 400];

const outcomes = counter("muster_device_logs_live_queries_total", "Live queries by outcome.", ["outcome"]);
const seconds = histogram(
  "muster_device_logs_live_query_duration_seconds",
  "Duration of live queries that were answered.",
);

/**
 * Queries a device's agent through the gateway that holds its channel and returns the bytes of its answer. Throws
 * AppError `device_offline`, `device_timeout`, `device_error`, `device_busy`, `event_log_not_found`,
 * `event_log_entry_not_found`, `cancelled` when the signal is aborted (the agent is notified), or `unavailable`.
 */
export async function liveQuery(deps: LiveQueryDeps, question: Question): Promise<Uint8Array> {
  const startedMs = performance.now();
  const endMs = startedMs + deps.timeoutMs;
  try {
    for (let attempt = 0; ; attempt++) {
      const answer = await askOnce(deps, question, endMs);
      if (answer) {
        outcomes.inc({ outcome: "answered" });
        seconds.observe((performance.now() - startedMs) / 1_000);
        return answer;
      }
      const delayMs = question.online ? retryDelaysMs[attempt] : undefined;
      if (delayMs === undefined) throw new AppError("device_offline", "Device is offline");
      await sleep(delayMs, question.signal);
      if (question.signal.aborted) throw cancelled();
    }
  } catch (error) {
    outcomes.inc({ outcome: error instanceof AppError ? error.code : "internal" });
    throw error;
  }
}

/** The chunks received so far of one connection's answer. */
type Part = { chunks: Uint8Array[]; bytes: number; nextSeq: number };

/** Null when no gateway accepts the query for the device. */
function askOnce(deps: LiveQueryDeps, question: Question, endMs: number): Promise<Uint8Array | null> {
  const { deviceId, operation, params, principal, signal } = question;
  const relay = deps.relay();
  if (!relay) throw new AppError("unavailable", "Live queries are not available right now", { retryAfterSeconds: 1 });
  if (signal.aborted) throw cancelled();
  const id = uuidv7();
  const subject = `agent.rpc.${deviceId}`;
  return new Promise((resolve, reject) => {
    // Two gateways may answer while an older connection lingers: only the newest one's answer counts.
    const parts = new Map<number, Part>();
    let newest = -1;
    let receivedMs = performance.now();

    const end = (settle: () => void, cancel: boolean) => {
      clearInterval(watch);
      signal.removeEventListener("abort", abort);
      request.stop();
      if (cancel) relay.publish(subject, encodeAgentFrame({ type: "cancel", id }));
      settle();
    };
    const fail = (error: AppError) => end(() => reject(error), true);
    const abort = () => fail(cancelled());

    const take = (bytes: Uint8Array) => {
      receivedMs = performance.now();
      const frame = decodeAgentFrame(bytes);
      const { type, epoch } = frame?.head ?? {};
      if (!frame || typeof epoch !== "number") return fail(deviceError("The gateway's answer could not be read"));
      if (epoch < newest) return;
      newest = epoch;
      if (type === "chunk") takeChunk(epoch, frame.head, frame.body);
      else if (type === "error") end(() => reject(refusalOf(frame.head)), false);
    };
    const takeChunk = (epoch: number, head: Record<string, unknown>, body: Uint8Array) => {
      const part = parts.get(epoch) ?? { chunks: [], bytes: 0, nextSeq: 0 };
      parts.set(epoch, part);
      part.bytes += body.length;
      if (head.seq !== part.nextSeq) return fail(deviceError("The device's answer came in the wrong order"));
      if (part.bytes > agentReplyBytes) return fail(deviceError("The device's answer is too large"));
      part.nextSeq += 1;
      part.chunks.push(body);
      if (head.last === true) end(() => resolve(Buffer.concat(part.chunks)), false);
    };

    const watch = setInterval(() => {
      const now = performance.now();
      if (now >= endMs) fail(new AppError("device_timeout", "Device did not answer in time"));
      else if (newest < 0 && now - receivedMs > acceptMs) end(() => resolve(null), true);
      else if (now - receivedMs > gatewaySilenceMs) fail(deviceError("The connection to the device was lost"));
    }, 50);
    signal.addEventListener("abort", abort, { once: true });

    const timeoutMs = Math.max(0, Math.round(endMs - performance.now() - reserveMs));
    const head = { type: "query", id, timeoutMs, principal, operation, params };
    let request = { stop() {} };
    try {
      request = relay.request(subject, encodeAgentFrame(head), {
        answer: take,
        nobody: (lost) =>
          lost && newest >= 0
            ? fail(deviceError("The connection to the device was lost"))
            : end(() => resolve(null), false),
      });
    } catch (error) {
      end(() => reject(error), false);
    }
  });
}

const refusals = {
  event_log_not_found: "Event log not found",
  event_log_entry_not_found: "Event log entry not found",
  device_busy: "Too many live queries of this device are in progress",
  device_timeout: "Device did not answer in time",
} as const;

function refusalOf({ code }: Record<string, unknown>): AppError {
  for (const [refusal, text] of Object.entries(refusals)) {
    if (code === refusal) return new AppError(refusal as keyof typeof refusals, text);
  }
  return deviceError(
    code === "connection_lost" ? "The connection to the device was lost" : "Device answered with an error",
  );
}

function cancelled(): AppError {
  return new AppError("cancelled", "The caller disconnected");
}
