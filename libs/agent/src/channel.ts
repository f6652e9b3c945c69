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
export const openChannel = (options: ChannelOptions): Channel => new OpenChannel(options);

class OpenChannel implements Channel {
  answered = 0;
  cancelled = 0;
  readonly #options: ChannelOptions;
  readonly #queries = new Map<string, AbortController>();
  #socket: WebSocket | null = null;
  #isStopped = false;
  #attempt = 0;
  #retry: NodeJS.Timeout | undefined;
  #dead: NodeJS.Timeout | undefined;

  readonly stop = (): void => {
    this.#isStopped = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#dead);
    const last = this.#socket;
    last?.close(1000);
    // A gateway that hangs does not answer the close.
    setTimeout(() => last?.terminate(), 2_000).unref();
  };

  constructor(options: ChannelOptions) {
    this.#options = options;
    this.#connect();
  }

  get connected(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  get inFlight(): number {
    return this.#queries.size;
  }

  #connect(): void {
    const own = newSocket(this.#options);
    this.#socket = own;
    this.#terminateAfter(own, this.#options.openMs ?? 30_000);
    own.on("open", () => {
      this.#attempt = 0;
      this.#terminateAfter(own, deadMs);
      this.#options.onState?.("connected", 0);
    });
    own.on("ping", () => this.#dead?.refresh());
    own.on("message", (data: Buffer) => {
      this.#dead?.refresh();
      this.#receive(own, data);
    });
    own.on("error", () => {
      // The error's cause shows in the close event that follows.
    });
    own.on("close", (code) => this.#closed(own, code));
  }

  #terminateAfter(own: WebSocket, ms: number): void {
    clearTimeout(this.#dead);
    this.#dead = setTimeout(() => own.terminate(), ms).unref();
  }

  #closed(own: WebSocket, code: number): void {
    clearTimeout(this.#dead);
    for (const query of this.#queries.values()) query.abort();
    this.#queries.clear();
    if (this.#socket !== own) return;
    this.#socket = null;
    this.#options.onState?.("closed", code);
    if (this.#isStopped) return;
    const longestMs = (this.#options.retryMs ?? 5_000) * 2 ** Math.min(this.#attempt++, 10);
    // Each agent waits for a random time, so that a fleet does not come back all at once.
    this.#retry = setTimeout(() => this.#connect(), Math.random() * Math.min(retryMaxMs, longestMs));
  }

  #receive(own: WebSocket, data: Buffer): void {
    const head = decodeAgentFrame(data)?.head;
    if (head?.type === "reconnect") {
      setTimeout(() => own.close(1000), Number(head.afterMs) || 0).unref();
    } else if (head?.type === "cancel") {
      this.#queries.get(String(head.id))?.abort();
      this.#queries.delete(String(head.id));
      this.cancelled += 1;
    } else if (head?.type === "query") void this.#answer(own, String(head.id), head);
  }

  async #answer(own: WebSocket, id: string, head: AgentFrame["head"]): Promise<void> {
    const fails = (code: string) => own.send(encodeAgentFrame({ type: "error", id, code }));
    // The platform sends no more; a gateway that does is not obeyed.
    if (this.#queries.size >= agentQueriesMax || this.#queries.has(id)) return fails("device_busy");
    const query = new AbortController();
    this.#queries.set(id, query);
    const said = await this.#options
      .answer(String(head.operation), fieldsOf(head.params), query.signal)
      .catch(() => ({ code: "query_failed" }));
    if (said === null || this.#queries.get(id) !== query) return;
    this.#queries.delete(id);
    if (own.readyState !== WebSocket.OPEN) return;
    if ("code" in said) return fails(said.code);
    this.answered += 1;
    const text = "text" in said ? said.text : JSON.stringify(said.reply);
    for (const frame of chunksOf(id, Buffer.from(text))) own.send(frame);
  }
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
