import {
  type AgentFrame,
  agentChunkBytes,
  agentQueriesMax,
  decodeAgentFrame,
  encodeAgentFrame,
  fieldsOf,
} from "@muster/kit/agent";
import { HttpsProxyAgent } from "https-proxy-agent";
import WebSocket from "ws";
import type { Answer } from "./event-logs.ts";

/** Answers one live query; null: not at all. Its signal aborts when the caller has disconnected. */
export type AnswerQuery = (
  operation: string,
  params: Record<string, unknown>,
  signal: AbortSignal,
) => Promise<Answer | { text: string } | null>;

export type ChannelOptions = {
  /** Base URL of the API, without /api/v1; read again before each connection. */
  baseUrl: () => string;
  agentId: string;
  /** The token, read before each connection: it may have been rotated. */
  token: () => string;
  answer: AnswerQuery;
  /** Certificates (PEM) that are trusted; without any the system's. */
  ca?: readonly string[];
  /** The HTTP proxy for a URL, through whose tunnel (CONNECT) the channel goes; null for none, the default. */
  proxyOf?: (url: string) => string | null;
  /** Milliseconds of the first wait before a reconnect; doubled up to a minute, each with full jitter. */
  retryMs?: number;
  /** Milliseconds until a connection must be open: a gateway or proxy may accept it and say nothing. */
  openMs?: number;
  onState?: (state: "connected" | "closed", code: number) => void;
};

export type Channel = {
  readonly connected: boolean;
  /** Live queries that it has and has not answered. */
  readonly inFlight: number;
  readonly answered: number;
  readonly cancelled: number;
  stop(): void;
};

/** Longer than the gateway's ping: silent for this long, the connection is dead. */
const deadMs = 75_000;
const retryMaxMs = 60_000;
/** Bytes of one message of the gateway: a head and a body. */
const messageBytesMax = 512 * 1024;

/** Keeps one agent's channel open and answers its live queries until stopped. */
export function openChannel(options: ChannelOptions): Channel {
  const { retryMs = 5_000, openMs = 30_000, onState = () => {} } = options;
  let socket: WebSocket | null = null;
  let stopped = false;
  let attempt = 0;
  let timer: NodeJS.Timeout | undefined;
  let dead: NodeJS.Timeout | undefined;
  const queries = new Map<string, AbortController>();
  const figures = { answered: 0, cancelled: 0 };

  const connect = () => {
    const own = newSocket(options);
    socket = own;
    dead = setTimeout(() => own.terminate(), openMs);
    dead.unref();
    const alive = () => {
      if (dead) dead.refresh();
    };
    own.on("open", () => {
      attempt = 0;
      clearTimeout(dead);
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
      for (const query of queries.values()) query.abort();
      queries.clear();
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
      queries.get(String(head.id))?.abort();
      queries.delete(String(head.id));
      figures.cancelled += 1;
    } else if (head?.type === "query") void begin(own, String(head.id), head);
  };

  const begin = async (own: WebSocket, id: string, head: AgentFrame["head"]): Promise<void> => {
    const fails = (code: string) => own.send(encodeAgentFrame({ type: "error", id, code }));
    // The platform sends no more; a gateway that does is not obeyed.
    if (queries.size >= agentQueriesMax || queries.has(id)) return fails("device_busy");
    const query = new AbortController();
    queries.set(id, query);
    const said = await options
      .answer(String(head.operation), fieldsOf(head.params), query.signal)
      .catch(() => ({ code: "query_failed" }));
    if (said === null || queries.get(id) !== query) return;
    queries.delete(id);
    if (own.readyState !== WebSocket.OPEN) return;
    if ("code" in said) return fails(said.code);
    figures.answered += 1;
    const text = "text" in said ? said.text : JSON.stringify(said.reply);
    for (const frame of chunksOf(id, Buffer.from(text))) own.send(frame);
  };

  connect();
  return {
    get connected() {
      return socket?.readyState === WebSocket.OPEN;
    },
    get inFlight() {
      return queries.size;
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

function newSocket({ baseUrl, agentId, token, ca, proxyOf }: ChannelOptions): WebSocket {
  const url = baseUrl();
  const proxy = proxyOf?.(url) ?? null;
  return new WebSocket(`${url.replace(/^http/, "ws")}/api/v1/agents/${agentId}/channel`, {
    headers: { authorization: `Bearer ${token()}` },
    perMessageDeflate: false,
    maxPayload: messageBytesMax,
    ...(ca && ca.length > 0 ? { ca: [...ca] } : {}),
    ...(proxy === null ? {} : { agent: new HttpsProxyAgent(proxy) }),
  });
}

function* chunksOf(id: string, bytes: Buffer): Generator<Uint8Array> {
  for (let from = 0, seq = 0; from < bytes.length; from += agentChunkBytes, seq++) {
    const last = from + agentChunkBytes >= bytes.length;
    yield encodeAgentFrame({ type: "chunk", id, seq, last }, bytes.subarray(from, from + agentChunkBytes));
  }
}
