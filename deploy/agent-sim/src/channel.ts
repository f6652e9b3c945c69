import { agentChunkBytes, decodeAgentFrame, encodeAgentFrame } from "@muster/kit";
import WebSocket from "ws";
import type { EventFilter, EventStore } from "./event-store.ts";

/** How an agent treats live queries. */
export type ChannelBehaviour = "normal" | "silent" | "slow" | "garbage";

export type ChannelOptions = {
  /** Base URL of the API, without /api/v1; read again before each connection. */
  baseUrl: () => string;
  agentId: string;
  /** The token, read before each connection: it may have been rotated. */
  token: () => string;
  store: EventStore;
  behave?: ChannelBehaviour;
  /** Milliseconds that a slow agent takes. */
  slowMs?: number;
  /** Milliseconds of the first wait before a reconnect; doubled up to a minute, each with full jitter. */
  retryMs?: number;
  onState?: (state: "connected" | "closed", code: number) => void;
};

export type Channel = {
  readonly connected: boolean;
  /** Live queries that it has and has not answered. */
  readonly inFlight: number;
  /** Live queries that were answered, and those that their callers cancelled. */
  readonly answered: number;
  readonly cancelled: number;
  stop(): void;
};

/** Longer than the gateway's ping: silent for this long, the connection is dead. */
const deadMs = 75_000;
const retryMaxMs = 60_000;

/** Keeps one agent's channel open and answers its live queries until stopped. */
export function openChannel(options: ChannelOptions): Channel {
  const { store, behave = "normal", slowMs = 5_000, retryMs = 5_000, onState = () => {} } = options;
  let socket: WebSocket | null = null;
  let stopped = false;
  let attempt = 0;
  let timer: NodeJS.Timeout | undefined;
  let dead: NodeJS.Timeout | undefined;
  const inFlight = new Map<string, NodeJS.Timeout | null>();
  const figures = { answered: 0, cancelled: 0 };

  const connect = () => {
    const url = `${options.baseUrl().replace(/^http/, "ws")}/api/v1/agents/${options.agentId}/channel`;
    const own = new WebSocket(url, {
      headers: { authorization: `Bearer ${options.token()}` },
      perMessageDeflate: false,
    });
    socket = own;
    const alive = () => {
      if (dead) dead.refresh();
    };
    own.on("open", () => {
      attempt = 0;
      dead = setTimeout(() => own.terminate(), deadMs);
      dead.unref();
      onState("connected", 0);
    });
    own.on("ping", alive);
    own.on("message", (data: Buffer) => {
      alive();
      receive(own, data);
    });
    own.on("error", () => {
      // The error's cause shows in the close event that follows.
    });
    own.on("close", (code) => {
      clearTimeout(dead);
      for (const waiting of inFlight.values()) if (waiting) clearTimeout(waiting);
      inFlight.clear();
      if (socket !== own) return;
      socket = null;
      onState("closed", code);
      if (stopped) return;
      // Each agent waits for a random time, so that a fleet does not come back all at once.
      timer = setTimeout(connect, Math.random() * Math.min(retryMaxMs, retryMs * 2 ** Math.min(attempt++, 10)));
    });
  };

  const receive = (own: WebSocket, data: Buffer) => {
    const head = decodeAgentFrame(data)?.head;
    if (head?.type === "reconnect") {
      const leave = setTimeout(() => own.close(1000), Number(head.afterMs) || 0);
      leave.unref();
    } else if (head?.type === "cancel") {
      const waiting = inFlight.get(String(head.id));
      if (waiting) clearTimeout(waiting);
      inFlight.delete(String(head.id));
      figures.cancelled += 1;
    } else if (head?.type === "query") begin(own, String(head.id), head);
  };

  const begin = (own: WebSocket, id: string, head: Record<string, unknown>) => {
    inFlight.set(id, null);
    if (behave === "silent") return;
    if (behave === "slow") {
      inFlight.set(
        id,
        setTimeout(() => answer(own, id, head), slowMs),
      );
      return;
    }
    answer(own, id, head);
  };

  const answer = (own: WebSocket, id: string, head: Record<string, unknown>) => {
    if (!inFlight.delete(id) || own.readyState !== WebSocket.OPEN) return;
    if (behave === "garbage") {
      own.send(encodeAgentFrame({ type: "chunk", id, seq: 0, last: true }, Buffer.from("\u0001 no answer {")));
      return;
    }
    const said = answerOf(store, String(head.operation), (head.params ?? {}) as Record<string, unknown>);
    if ("code" in said) {
      own.send(encodeAgentFrame({ type: "error", id, code: said.code }));
      return;
    }
    figures.answered += 1;
    for (const frame of chunksOf(id, Buffer.from(JSON.stringify(said.reply)))) own.send(frame);
  };

  connect();
  return {
    get connected() {
      return socket?.readyState === WebSocket.OPEN;
    },
    get inFlight() {
      return inFlight.size;
    },
    get answered() {
      return figures.answered;
    },
    get cancelled() {
      return figures.cancelled;
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
      clearTimeout(dead);
      const last = socket;
      last?.close(1000);
      // A gateway that hangs does not answer the close.
      setTimeout(() => last?.terminate(), 2_000).unref();
    },
  };
}

type Answer = { reply: unknown } | { code: string };

/** What the agent answers to an operation; an error code for unknown logs, records and operations. */
export function answerOf(store: EventStore, operation: string, params: Record<string, unknown>): Answer {
  const name = String(params.name ?? "");
  switch (operation) {
    case "eventlogs.list":
      return { reply: { logs: store.logs() } };
    case "eventlogs.get": {
      const log = store.log(name);
      return log ? { reply: { log } } : { code: "event_log_not_found" };
    }
    case "eventlogs.events": {
      const found = store.events(name, params as unknown as EventFilter);
      return found ? { reply: found } : { code: "event_log_not_found" };
    }
    case "eventlogs.event": {
      const event = store.event(name, Number(params.recordId));
      if (event === null) return { code: "event_log_not_found" };
      return event ? { reply: { event } } : { code: "event_log_entry_not_found" };
    }
    default:
      return { code: "unsupported_operation" };
  }
}

function* chunksOf(id: string, bytes: Buffer): Generator<Uint8Array> {
  for (let from = 0, seq = 0; from < bytes.length; from += agentChunkBytes, seq++) {
    const last = from + agentChunkBytes >= bytes.length;
    yield encodeAgentFrame({ type: "chunk", id, seq, last }, bytes.subarray(from, from + agentChunkBytes));
  }
}
