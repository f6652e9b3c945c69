import { errorOf } from "@muster/kit";
import type { Dispatcher } from "undici";
import { type Failure, failureOf } from "./failure.ts";
import type { OriginPool } from "./pools.ts";
import type { Target } from "./validate-url.ts";

export type ExchangeRequest = {
  method: "POST" | "PUT";
  /** Name, value, name, value … as sent. */
  headers: readonly string[];
  body: Buffer;
  /** Milliseconds over connecting, headers and body together. */
  timeoutMs: number;
  /** Bytes of the answer's body that are kept, and that are read at all before the connection is given up. */
  keepBytes: number;
  drainBytes: number;
  signal?: AbortSignal;
};

export type Exchange = {
  /** Null when no answer came; then `error` is the reason. */
  status: number | null;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
  /** The body was longer than what was kept, or did not end in time. */
  truncated: boolean;
  error: Failure | null;
  remoteAddress: string | null;
  /** No connection was opened for it. */
  reused: boolean;
  /** Milliseconds from the start; null when it was not reached. */
  connectedMs: number | null;
  headersMs: number | null;
  totalMs: number;
};

/**
 * One request without redirects, resends and decompression; always ends by `timeoutMs`, never throws. The status
 * decides once headers are there, whatever becomes of the body.
 */
export function exchange({ origin, path }: Target, to: OriginPool, request: ExchangeRequest): Promise<Exchange> {
  const { method, headers, body } = request;
  return new Promise((resolve) => {
    const running = new RunningExchange(to, request, resolve);
    if (!running.begin()) return;
    try {
      to.pool.dispatch({ origin, path, method, headers: [...headers], body }, running);
    } catch (error) {
      running.fail(errorOf(error));
    }
  });
}

/** One request, as undici reports it; settles once. */
class RunningExchange implements Dispatcher.DispatchHandler {
  readonly #to: OriginPool;
  readonly #request: ExchangeRequest;
  readonly #resolve: (exchange: Exchange) => void;
  readonly #startedMs = performance.now();
  readonly #connectsBefore: number;
  #controller: Dispatcher.DispatchController | null = null;
  #timer: NodeJS.Timeout | undefined;
  #settled = false;
  #status: number | null = null;
  #headers: Exchange["headers"] = {};
  #connectedMs: number | null = null;
  #headersMs: number | null = null;
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #seenBytes = 0;

  constructor(to: OriginPool, request: ExchangeRequest, resolve: (exchange: Exchange) => void) {
    this.#to = to;
    this.#request = request;
    this.#resolve = resolve;
    this.#connectsBefore = to.connects;
  }

  /** Starts its time; false when it was aborted before. */
  begin(): boolean {
    const { timeoutMs, signal } = this.#request;
    this.#timer = setTimeout(() => {
      const seconds = timeoutMs / 1_000;
      const waitedFor = this.#connectedMs === null ? "a connection" : "an answer";
      this.#giveUp({ code: "timeout", message: `Timed out after ${seconds} s waiting for ${waitedFor}` });
    }, timeoutMs);
    if (signal?.aborted) this.#onAbort();
    else if (signal) ends(signal).add(this.#onAbort);
    return !this.#settled;
  }

  fail(error: Error): void {
    this.#settle(failureOf(error), false);
  }

  readonly #onAbort = (): void => this.#giveUp({ code: "aborted", message: "Ended before an answer came" });

  /** Ends the exchange now; a request still waiting for its connection is aborted when it gets one. */
  #giveUp(error: Exchange["error"]): void {
    this.#settle(error, false);
    this.#controller?.abort(new Error("given up"));
  }

  #settle(error: Exchange["error"], whole: boolean): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#timer);
    const { signal } = this.#request;
    if (signal) ends(signal).delete(this.#onAbort);
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      body: Buffer.concat(this.#kept),
      truncated: !whole || this.#seenBytes > this.#keptBytes,
      error: this.#status === null ? error : null,
      remoteAddress: this.#connectedMs === null ? null : this.#to.remoteAddress,
      reused: this.#connectedMs !== null && this.#to.connects === this.#connectsBefore,
      connectedMs: this.#connectedMs,
      headersMs: this.#headersMs,
      totalMs: this.#sinceMs(),
    });
  }

  #sinceMs(): number {
    return Math.round(performance.now() - this.#startedMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#settled) controller.abort(new Error("given up"));
    else this.#connectedMs = this.#sinceMs();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, code: number, received: Exchange["headers"]): void {
    if (code < 200) return;
    this.#status = code;
    this.#headers = received;
    this.#headersMs = this.#sinceMs();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return;
    const { keepBytes, drainBytes } = this.#request;
    this.#seenBytes += chunk.length;
    if (this.#keptBytes < keepBytes) {
      const part = chunk.subarray(0, keepBytes - this.#keptBytes);
      // A copy: the chunk is a view of a buffer that is read into again.
      this.#kept.push(Buffer.from(part));
      this.#keptBytes += part.length;
    }
    if (this.#seenBytes > drainBytes) {
      this.#settle(null, false);
      controller.abort(new Error("body too long"));
    }
  }

  // Settled once undici has its connection back: an immediate next request would open another.
  onResponseEnd(): void {
    setImmediate(() => setImmediate(() => this.#settle(null, true)));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error);
  }
}

const listening = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * The callbacks of a signal's abort, behind one listener: adding or removing a listener takes an event target time for
 * each one it has.
 */
function ends(signal: AbortSignal): Set<() => void> {
  const cached = listening.get(signal);
  if (cached) return cached;
  const calls = new Set<() => void>();
  listening.set(signal, calls);
  signal.addEventListener("abort", () => calls.forEach((call) => void call()), { once: true });
  return calls;
}
