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
  const startedMs = performance.now();
  const since = () => Math.round(performance.now() - startedMs);
  const { keepBytes, drainBytes, timeoutMs, signal } = request;
  const connectsBefore = to.connects;

  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | null = null;
    let settled = false;
    let status: number | null = null;
    let headers: Exchange["headers"] = {};
    let connectedMs: number | null = null;
    let headersMs: number | null = null;
    const kept: Buffer[] = [];
    let keptBytes = 0;
    let seenBytes = 0;

    const settle = (error: Exchange["error"], whole: boolean) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      if (signal) ends(signal).delete(onAbort);
      resolve({
        status,
        headers,
        body: Buffer.concat(kept),
        truncated: !whole || seenBytes > keptBytes,
        error: status === null ? error : null,
        remoteAddress: connectedMs === null ? null : to.remoteAddress,
        reused: connectedMs !== null && to.connects === connectsBefore,
        connectedMs,
        headersMs,
        totalMs: since(),
      });
    };
    /** Ends the exchange now; a request still waiting for its connection is aborted when it gets one. */
    const giveUp = (error: Exchange["error"]) => {
      settle(error, false);
      controller?.abort(new Error("given up"));
    };
    const timer = setTimeout(() => {
      const seconds = timeoutMs / 1_000;
      const waitedFor = connectedMs === null ? "a connection" : "an answer";
      giveUp({ code: "timeout", message: `Timed out after ${seconds} s waiting for ${waitedFor}` });
    }, timeoutMs);
    const onAbort = () => giveUp({ code: "aborted", message: "Ended before an answer came" });
    if (signal?.aborted) return onAbort();
    if (signal) ends(signal).add(onAbort);

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(requestController) {
        controller = requestController;
        if (settled) return requestController.abort(new Error("given up"));
        connectedMs = since();
      },
      onResponseStart(_controller, code, received) {
        if (code < 200) return;
        status = code;
        headers = received;
        headersMs = since();
      },
      onResponseData(requestController, chunk) {
        if (settled) return;
        seenBytes += chunk.length;
        if (keptBytes < keepBytes) {
          const part = chunk.subarray(0, keepBytes - keptBytes);
          // A copy: the chunk is a view of a buffer that is read into again.
          kept.push(Buffer.from(part));
          keptBytes += part.length;
        }
        if (seenBytes > drainBytes) {
          settle(null, false);
          requestController.abort(new Error("body too long"));
        }
      },
      // Settled once undici has its connection back: an immediate next request would open another.
      onResponseEnd: () => void setImmediate(() => setImmediate(settle, null, true)),
      onResponseError: (_controller, error) => settle(failureOf(error), false),
    };
    try {
      to.pool.dispatch(
        {
          origin,
          path,
          method: request.method,
          headers: request.headers as string[],
          body: request.body,
        },
        handler,
      );
    } catch (error) {
      settle(failureOf(error as Error), false);
    }
  });
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
