import {
  type AppError,
  agentChunkBytes,
  agentQueriesMax,
  agentReplyBytes,
  decodeAgentFrame,
  encodeAgentFrame,
} from "@muster/kit";
import type WebSocket from "ws";
import type { Agent } from "../route/credential.ts";

/** Why a channel is closed (RFC 6455 section 7.4.2: 4000-4999 are ours). */
export const closeCodes = {
  /** A newer connection of the same agent exists. */
  replaced: 4000,
  /** The token, the device or its tenant is no longer admitted. */
  refused: 4001,
  /** Identity did not confirm in time that the agent is still admitted. */
  unverified: 1013,
  /** What the agent sent could not be read. */
  protocol: 1008,
} as const;

/** Bytes that may wait for an agent that does not read. */
const backlogMax = 1_048_576;

/** Chunks of one answer: 8 MiB in pieces of 128 bytes. */
const chunksMax = 65_536;

/** A live query that the agent has not completed. */
type Query = {
  answer: (frame: Uint8Array) => void;
  endsAtMs: number;
  /** Next number of the agent's chunks, and of the merged ones that the caller gets. */
  nextSeq: number;
  sentSeq: number;
  bytes: number;
  waiting: Uint8Array[];
  waitingBytes: number;
};

const none: ReadonlyMap<string, Query> = new Map();

/**
 * Error codes that an agent may return (docs/agent-channel.md); any other code, or a missing one, counts as the
 * device's failure.
 */
const agentCodes: readonly unknown[] = [
  "event_log_not_found",
  "event_log_entry_not_found",
] satisfies AppError["code"][];
const codeOf = (code: unknown) => (agentCodes.includes(code) ? (code as string) : "device_error");

/** One agent's connection and the live queries in flight on it. */
export class AgentChannel {
  readonly socket: WebSocket;
  readonly epoch: number;
  readonly digest: string;
  agent: Agent;
  aliveMs: number;
  pingedMs: number;
  /** Ends the subscription to the device's subject. */
  leave: () => void = () => {};
  #queries: Map<string, Query> | null = null;

  constructor(socket: WebSocket, epoch: number, agent: Agent, digest: string, nowMs: number) {
    this.socket = socket;
    this.epoch = epoch;
    this.agent = agent;
    this.digest = digest;
    this.aliveMs = nowMs;
    this.pingedMs = nowMs;
  }

  get queries(): ReadonlyMap<string, unknown> {
    return this.#queries ?? none;
  }

  /** What a service sent on the device's subject. */
  take(bytes: Uint8Array, answer: (frame: Uint8Array) => void, nowMs: number): void {
    const head = decodeAgentFrame(bytes)?.head;
    if (head?.type === "cancel") this.cancel(String(head.id));
    else if (head?.type === "query" && typeof head.id === "string") this.#begin(head.id, head, answer, nowMs);
  }

  /** Drops a query whose caller has disconnected, and notifies the agent. */
  cancel(id: string): void {
    if (this.#queries?.delete(id)) this.send({ type: "cancel", id });
  }

  send(head: Record<string, unknown>): void {
    if (this.socket.readyState !== this.socket.OPEN) return;
    // An agent that reads nothing would fill our memory.
    if (this.socket.bufferedAmount > backlogMax) this.socket.terminate();
    else this.socket.send(encodeAgentFrame(head), { binary: true });
  }

  /** Handles a frame of the agent; returns "unsolicited" for one that belongs to no query in flight. */
  receive(bytes: Uint8Array): "taken" | "unsolicited" | "unreadable" {
    const frame = decodeAgentFrame(bytes);
    if (!frame || typeof frame.head.type !== "string") return "unreadable";
    const { id } = frame.head;
    const query = typeof id === "string" ? this.#queries?.get(id) : undefined;
    // A frame of a cancelled query, or of a kind that only newer agents know.
    if (!query || typeof id !== "string") return "unsolicited";
    if (frame.head.type !== "chunk" && frame.head.type !== "error") return "unsolicited";
    if (frame.head.type === "chunk") this.#chunk(id, query, frame.head, frame.body);
    else this.#fail(id, query, codeOf(frame.head.code));
    return "taken";
  }

  /** Every 2 s: sends each caller a keep-alive, and fails queries past their deadline. */
  tick(nowMs: number): void {
    for (const [id, query] of this.#queries ?? none) {
      if (nowMs > query.endsAtMs) this.cancel(id);
      else query.answer(encodeAgentFrame({ type: "working", epoch: this.epoch }));
    }
  }

  /** Fails all queries: their agent has disconnected. */
  abandon(code: "connection_lost" | "device_error"): void {
    for (const [id, query] of this.#queries ?? none) this.#fail(id, query, code);
  }

  #begin(id: string, head: Record<string, unknown>, answer: Query["answer"], nowMs: number): void {
    const { epoch } = this;
    if (this.socket.readyState !== this.socket.OPEN) {
      answer(encodeAgentFrame({ type: "error", epoch, code: "connection_lost" }));
      return;
    }
    this.#queries ??= new Map();
    if (this.#queries.size >= agentQueriesMax) {
      answer(encodeAgentFrame({ type: "error", epoch, code: "device_busy" satisfies AppError["code"] }));
      return;
    }
    const timeoutMs = Math.min(Math.max(Number(head.timeoutMs) || 0, 0), 60_000);
    this.#queries.set(id, {
      answer,
      // The caller's timeout is 2 s longer than the agent's.
      endsAtMs: nowMs + timeoutMs + 2_500,
      nextSeq: 0,
      sentSeq: 0,
      bytes: 0,
      waiting: [],
      waitingBytes: 0,
    });
    answer(encodeAgentFrame({ type: "accepted", epoch }));
    const { operation, params, principal } = head;
    this.send({ type: "query", id, timeoutMs, principal, operation, params });
  }

  #chunk(id: string, query: Query, head: Record<string, unknown>, body: Uint8Array): void {
    query.bytes += body.length;
    const last = head.last === true;
    const isBad = head.seq !== query.nextSeq || body.length > agentChunkBytes || query.bytes > agentReplyBytes;
    // An unlimited number of empty chunks would keep the query open for ever.
    if (isBad || (body.length === 0 && !last) || query.nextSeq >= chunksMax) {
      this.#fail(id, query, "device_error");
      this.send({ type: "cancel", id });
      return;
    }
    query.nextSeq += 1;
    // A view of the socket's buffer, which will be used again.
    query.waiting.push(Uint8Array.prototype.slice.call(body));
    query.waitingBytes += body.length;
    if (last) this.#queries?.delete(id);
    if (last || query.waitingBytes >= agentChunkBytes) this.#forward(query, last);
  }

  /**
   * Sends merged chunks, however small the agent's are: at most 64 messages an answer.
   */
  #forward(query: Query, last: boolean): void {
    const all = Buffer.concat(query.waiting);
    let at = 0;
    while (all.length - at > agentChunkBytes || (!last && all.length - at === agentChunkBytes)) {
      this.#say(query, all.subarray(at, at + agentChunkBytes), false);
      at += agentChunkBytes;
    }
    const rest = all.subarray(at);
    if (last) this.#say(query, rest, true);
    query.waiting = last || rest.length === 0 ? [] : [rest];
    query.waitingBytes = last ? 0 : rest.length;
  }

  #say(query: Query, body: Uint8Array, last: boolean): void {
    query.answer(encodeAgentFrame({ type: "chunk", epoch: this.epoch, seq: query.sentSeq, last }, body));
    query.sentSeq += 1;
  }

  #fail(id: string, query: Query, code: string): void {
    this.#queries?.delete(id);
    query.answer(encodeAgentFrame({ type: "error", epoch: this.epoch, code }));
  }
}
