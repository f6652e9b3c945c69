import type { DescMessage, DescMethodStreaming, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ContextValues,
  type StreamResponse,
  type Transport,
  type UnaryResponse,
} from "@connectrpc/connect";
import { AppError, type Caller, endSpan, fairSlots, gauge, type TlsFiles } from "@muster/kit";
import type { Dispatcher } from "undici";
import { callerKey } from "../caller/metadata.ts";
import type { Signer } from "../caller/signer.ts";
import { encode } from "../codec/codec.ts";
import { toAppError, toConnectError } from "../protocol/errors.ts";
import { maxTimeoutMs } from "../protocol/limits.ts";
import { recordClient } from "../protocol/metrics.ts";
import { rpcMethod } from "../protocol/rpc-method.ts";
import { processTls } from "../protocol/tls.ts";
import { type CallHeaders, headersOf } from "./call-headers.ts";
import { createPatience } from "./patience.ts";
import { slotOwner } from "./slot-owner.ts";
import { repeatable, tracedStream, untilTaken } from "./stream-opening.ts";
import { Streams } from "./streams.ts";
import { createTargets, type Target } from "./targets.ts";
import { type Answer, UnaryCall } from "./unary-call.ts";

const inFlightRequests = gauge(
  "muster_rpc_client_requests_in_flight",
  "Unary RPCs of this process that wait for an answer.",
);

/** A call that may last longer than this uses separate connections: waiting for an agent must not delay other calls. */
const longCallMs = 15_000;

export type TransportOptions = {
  /** http://host:port (https with TLS) of each replica, or of one name for all. Used in turn. */
  baseUrls: readonly string[];
  /** Connections per base URL for unary calls of up to 15 s: further calls wait. */
  connections?: number;
  /** As many for longer calls, 64 by default. */
  longConnections?: number;
  /**
   * Callers share the connections: the calls of an organization (of a partner, a platform user, or one network without
   * a credential) get their fair share (docs/concepts.md#fair-share) and wait round-robin. For a process of many
   * tenants.
   */
  isShared?: boolean;
  /** Age (±20 %) at which a connection is replaced: new replicas get their share. */
  clientTtlMs?: number;
  /** For unary calls that name no timeout. */
  defaultTimeoutMs?: number;
  /**
   * For which a call is repeated that no server took: while pods are replaced, one name leads to those that left, too.
   */
  patienceMs?: number;
  /** Unary calls in flight and waiting; more are refused as `overloaded`. */
  maxInFlight?: number;
  maxResponseBytes?: number;
  /** The service behind these URLs, and the signer of caller tokens for it; without them each call brings its token. */
  callers?: { service: string; signer: Pick<Signer, "tokenFor"> };
  /** Certificates for mutual TLS; the process's own by default. */
  tls?: TlsFiles | null;
};

/** Connections for calls of one kind, and the fair shares of their callers. */
type Pools = { targets: ReturnType<typeof createTargets>; slots: ReturnType<typeof fairSlots> | null };

/** Who calls, as the server receives it and as this process has it; both null on RPCs that need no caller. */
type Authority = { token: string | null; caller: Caller | null };

export type RpcTransport = Transport & { close(): Promise<void> };

/**
 * Connect transport between our processes: unary calls in the Connect protocol (binary, HTTP/1.1) over undici, streams
 * over connect-node (HTTP/2). Calls reject with ConnectError; `toAppError` turns that into the typed error.
 * Interceptors are not supported: deadline, caller and tracing are built in. A stream ends by its signal: leaving a
 * `for await` early does not end it, and it keeps one of the 256 slots of its connection.
 */
export function createTransport(options: TransportOptions): RpcTransport {
  return new PooledTransport(options);
}

class PooledTransport implements RpcTransport {
  readonly #options: TransportOptions;
  readonly #clientTtlMs: NonNullable<TransportOptions["clientTtlMs"]>;
  readonly #defaultTimeoutMs: NonNullable<TransportOptions["defaultTimeoutMs"]>;
  readonly #maxInFlight: NonNullable<TransportOptions["maxInFlight"]>;
  readonly #maxResponseBytes: NonNullable<TransportOptions["maxResponseBytes"]>;
  readonly #patience: ReturnType<typeof createPatience>;
  readonly #tls: TlsFiles | null;
  readonly #shortCalls: Pools;
  readonly #longCalls: Pools;
  readonly #streams: Streams;
  #inFlight = 0;

  constructor(options: TransportOptions) {
    this.#options = options;
    const { connections = 8, clientTtlMs = 30_000, defaultTimeoutMs = 10_000, maxInFlight = 2_048 } = options;
    this.#clientTtlMs = clientTtlMs;
    this.#defaultTimeoutMs = defaultTimeoutMs;
    this.#maxInFlight = maxInFlight;
    const { maxResponseBytes = 32 * 1024 * 1024, patienceMs = 2_000, longConnections = 64 } = options;
    this.#maxResponseBytes = maxResponseBytes;
    this.#patience = createPatience(patienceMs, options.baseUrls.length);
    const { tls = processTls() } = options;
    this.#tls = tls;
    this.#shortCalls = this.#pools(connections);
    this.#longCalls = this.#pools(longConnections);
    this.#streams = new Streams({ baseUrls: options.baseUrls, idleMs: clientTtlMs, maxResponseBytes, tls });
  }

  #pools(each: number): Pools {
    return {
      targets: createTargets(this.#options.baseUrls, each, this.#clientTtlMs, this.#tls),
      slots: this.#options.isShared ? fairSlots(each * this.#options.baseUrls.length) : null,
    };
  }

  #unary(
    method: DescMethodUnary,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: CallHeaders,
    input: MessageInitShape<DescMessage>,
    { token, caller }: Authority,
  ): Promise<Answer> {
    const described = rpcMethod(method);
    const startedMs = performance.now();
    if (this.#inFlight >= this.#maxInFlight) {
      const busy = new AppError("overloaded", "Too many calls in flight", { retryAfterSeconds: 1 });
      recordClient(described.rpc, busy.code, startedMs);
      return Promise.reject(toConnectError(busy));
    }
    if (signal?.aborted) return Promise.reject(cancelled(signal.reason));
    const allowedMs =
      timeoutMs === undefined || timeoutMs <= 0 ? this.#defaultTimeoutMs : Math.min(timeoutMs, maxTimeoutMs);

    return new Promise((resolve, reject) => {
      const { headers, span } = headersOf(described, allowedMs, header, token);
      const body = encode(method.input, input);
      const request: Dispatcher.DispatchOptions = { path: described.path, method: "POST", headers, body };
      const { targets, slots } = allowedMs > longCallMs ? this.#longCalls : this.#shortCalls;
      const slot = { owner: slots === null ? null : slotOwner(caller, header) };
      let target: Target | undefined;
      let waiting: NodeJS.Timeout | undefined;
      const tried: string[] = [];
      const call = new UnaryCall({
        method,
        described,
        maxResponseBytes: this.#maxResponseBytes,
        patience: this.#patience,
        again(again, connected, waitMs) {
          if (target !== undefined) {
            if (!connected) targets.shun(target);
            tried.push(target.origin);
          }
          const send = () => {
            target = targets.next(tried);
            targets.dispatchFresh(target, request, again);
          };
          if (waitMs === 0) send();
          else waiting = setTimeout(send, waitMs);
        },
        leaving: () => target && targets.leave(target),
        settled: (error, answer) => {
          clearTimeout(timer);
          clearTimeout(waiting);
          signal?.removeEventListener("abort", onAbort);
          this.#inFlight--;
          inFlightRequests.dec();
          if (target !== undefined) slots?.leave(slot);
          else slots?.withdraw(slot, begin);
          const code = error ? toAppError(error).code : "ok";
          if (span) endSpan(span, code);
          recordClient(described.rpc, code, startedMs);
          if (answer) resolve(answer);
          else reject(error);
        },
      });
      const onAbort = () => call.cancel(cancelled(signal?.reason));
      const timer = setTimeout(() => call.expire(), allowedMs);
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#inFlight++;
      inFlightRequests.inc();
      const begin = () => {
        target = targets.next();
        target.pool.dispatch(request, call);
      };
      if (slots === null || slots.take(slot, begin)) begin();
    });
  }

  async #authorityOf(contextValues: ContextValues | undefined): Promise<Authority> {
    const caller = contextValues?.get(callerKey) ?? null;
    if (caller === null) return { token: null, caller };
    if (!this.#options.callers) throw new Error("this transport mints no tokens");
    const token = await this.#options.callers.signer
      .tokenFor(caller, this.#options.callers.service)
      .catch((error: unknown) => {
        throw error instanceof AppError ? toConnectError(error) : error;
      });
    return { token, caller };
  }

  readonly unary = async <I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: CallHeaders,
    input: MessageInitShape<I>,
    contextValues?: ContextValues,
  ): Promise<UnaryResponse<I, O>> => {
    const authority = await this.#authorityOf(contextValues);
    return this.#unary(method, signal, timeoutMs, header, input, authority) as never;
  };

  readonly stream = <I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: CallHeaders,
    input: AsyncIterable<MessageInitShape<I>>,
    contextValues?: ContextValues,
  ): Promise<StreamResponse<I, O>> => {
    const opened = (async () => {
      const { token } = await this.#authorityOf(contextValues);
      const messages = method.methodKind === "server_streaming" ? await repeatable(input) : input;
      return tracedStream(method, header, token, (headers) =>
        untilTaken(this.#patience, signal, async () => {
          const transport = await this.#streams.next();
          return transport.stream(method, signal, timeoutMs, headers, messages, contextValues);
        }),
      );
    })();
    // A stream that its signal ends before it is read rejects without a listener, which would end the process.
    opened.catch(() => undefined);
    return opened;
  };

  readonly close = async (): Promise<void> => {
    this.#streams.close();
    await Promise.all([this.#shortCalls.targets.close(), this.#longCalls.targets.close()]);
  };
}

function cancelled(reason: unknown): ConnectError {
  return reason instanceof ConnectError
    ? reason
    : new ConnectError("the operation was cancelled", Code.Canceled, undefined, undefined, reason);
}
