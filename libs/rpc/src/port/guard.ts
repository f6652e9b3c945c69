import type { DescMethod } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  AppError,
  activeTracer,
  type Caller,
  type ErrorCode,
  endSpan,
  type Logger,
  type RequestMeta,
  startServerSpan,
  traceparentOf,
  uuidv7,
  withSpan,
} from "@muster/kit";
import type { Span } from "@opentelemetry/api";
import { type EstablishedCall, establishedCall } from "../caller/call-context.ts";
import { openRpcs } from "../caller/issuers.ts";
import { metadataNames } from "../caller/metadata.ts";
import type { Verifier } from "../caller/verifier.ts";
import { toAppError, toConnectError } from "../protocol/errors.ts";
import { recordServer } from "../protocol/metrics.ts";
import { type RpcMethod, rpcMethod } from "../protocol/rpc-method.ts";

export type GuardDeps = {
  verifier: Verifier;
  log: Logger;
  /** True while the process stops, when dependencies of handlers may already be closed. */
  stopping: () => boolean;
};

/** One call as its protocol path presents it. */
export type Incoming = {
  header(name: string): string | undefined;
  context: HandlerContext;
  /** Deadline on the performance.now() clock. */
  deadlineMs: number | null;
  /** Registers what ends the wait for a handler when the deadline passes or the client goes. */
  onInterrupt(interrupt: (reason: unknown) => void): void;
};

/** What every call goes through, whichever protocol brought it: caller, span, metrics, one typed error. */
export type Guard = {
  method: RpcMethod;
  /** Runs `handler`; rejects with a ConnectError only. */
  call<T>(incoming: Incoming, handler: () => T | Promise<T>): Promise<T>;
  /** Like `call`, around a stream of answers. */
  stream<T>(incoming: Incoming, handler: () => AsyncIterable<T>): AsyncGenerator<T>;
};

/** Codes that mean a failure of the service, not of the request: their causes belong in the log. */
const failing: ReadonlySet<ErrorCode> = new Set(["unavailable", "overloaded", "deadline_exceeded"]);

export function createGuard(deps: GuardDeps, method: DescMethod): Guard {
  return new CallGuard(deps, method);
}

class CallGuard implements Guard {
  readonly #deps: GuardDeps;
  readonly #described: ReturnType<typeof rpcMethod>;
  readonly #rpc;
  readonly #open;
  readonly method: Guard["method"];

  constructor(deps: GuardDeps, method: DescMethod) {
    this.#deps = deps;
    this.#described = rpcMethod(method);
    const { rpc } = this.#described;
    this.#rpc = rpc;
    this.#open = openRpcs.has(this.#rpc);
    this.method = this.#described;
  }

  #begin(incoming: Incoming): Span | undefined {
    const tracer = activeTracer();
    if (!tracer) return undefined;
    return startServerSpan(
      tracer,
      this.#rpc,
      this.#described.attributes,
      incoming.header(metadataNames.traceparent) ?? null,
    );
  }

  #establish(incoming: Incoming, caller: Caller | null, span: Span | undefined): void {
    const call: EstablishedCall = {
      caller,
      meta: requestMeta(incoming, span),
      deadlineMs: incoming.deadlineMs,
    };
    incoming.context.values.set(establishedCall, call);
  }

  #admit(incoming: Incoming): Caller | null | Promise<Caller> {
    return this.#open ? null : this.#deps.verifier.verify(incoming.header(metadataNames.caller), this.#rpc);
  }

  #fail(thrown: unknown, incoming: Incoming): AppError {
    const error = toAppError(thrown);
    // An answer that could not be written to a client who has left is no failure of the handler.
    if (error.code === "internal" && isAnswering(thrown) && incoming.context.signal.aborted) {
      return new AppError("cancelled", "The client has left", { cause: error });
    }
    if (error.code === "internal" && this.#deps.stopping()) {
      const cause = error.cause ?? error;
      this.#deps.log.warn(
        { err: cause, rpc: this.#rpc, requestId: incoming.header(metadataNames.requestId) },
        "rpc failed while stopping",
      );
      return new AppError("unavailable", "Service is stopping", { cause, retryAfterSeconds: 1 });
    }
    const about = { err: error.cause ?? error, rpc: this.#rpc, requestId: incoming.header(metadataNames.requestId) };
    if (error.code === "internal") this.#deps.log.error(about, "rpc handler failed");
    else if (error.cause !== undefined && failing.has(error.code)) {
      this.#deps.log.warn({ ...about, code: error.code }, "rpc could not be served");
    }
    // The text of an internal error is for the log alone.
    return error.code === "internal" ? new AppError("internal", "Internal error", { cause: error }) : error;
  }

  readonly call = async <T>(incoming: Incoming, handler: () => T | Promise<T>): Promise<T> => {
    const startedMs = performance.now();
    const span = this.#begin(incoming);
    let code = "ok";
    try {
      const admitted = this.#admit(incoming);
      this.#establish(incoming, isPromise(admitted) ? await admitted : admitted, span);
      return await untilInterrupted(incoming, this.#deps.log, this.#rpc, () =>
        span ? withSpan(span, handler) : handler(),
      );
    } catch (thrown) {
      const error = this.#fail(thrown, incoming);
      code = error.code;
      throw toConnectError(error);
    } finally {
      if (span) endSpan(span, code);
      recordServer(this.#rpc, code, startedMs, span);
    }
  };

  async *stream<T>(incoming: Incoming, handler: () => AsyncIterable<T>): AsyncGenerator<T> {
    const startedMs = performance.now();
    const span = this.#begin(incoming);
    const inSpan = <R>(run: () => R): R => (span ? withSpan(span, run) : run());
    // Stays when the client stops reading before the end.
    let code = "cancelled";
    try {
      const admitted = this.#admit(incoming);
      this.#establish(incoming, isPromise(admitted) ? await admitted : admitted, span);
      const answers = inSpan(() => handler()[Symbol.asyncIterator]());
      try {
        for (;;) {
          const next = await untilInterrupted(incoming, this.#deps.log, this.#rpc, () => inSpan(() => answers.next()));
          if (next.done) break;
          yield next.value;
        }
        code = "ok";
      } finally {
        if (code !== "ok") closeQuietly(answers, this.#deps.log, this.#rpc);
      }
    } catch (thrown) {
      const error = this.#fail(thrown, incoming);
      code = error.code;
      throw toConnectError(error);
    } finally {
      if (span) endSpan(span, code);
      recordServer(this.#rpc, code, startedMs, span);
    }
  }
}

/** Whether it was writing to the connection that failed. */
function isAnswering(thrown: unknown): boolean {
  return thrown instanceof Error && /\[ERR_(STREAM|HTTP2)_[A-Z_]+\]/.test(`${thrown.message} ${String(thrown.cause)}`);
}

function requestMeta(incoming: Incoming, span: Span | undefined): RequestMeta {
  return {
    requestId: incoming.header(metadataNames.requestId) ?? uuidv7(),
    clientAddress: incoming.header(metadataNames.clientAddress) ?? null,
    userAgent: incoming.header(metadataNames.userAgent) ?? null,
    traceparent: span ? traceparentOf(span) : (incoming.header(metadataNames.traceparent) ?? null),
    idempotencyKey: incoming.header(metadataNames.idempotencyKey) ?? null,
  };
}

export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** A handler that ignores its signal must not hold the answer back: the wait ends with the call. */
function untilInterrupted<T>(incoming: Incoming, log: Logger, rpc: string, run: () => T | Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let interrupted = false;
    incoming.onInterrupt((reason) => {
      interrupted = true;
      reject(reason);
    });
    // The call ended before its handler began, for example while the token was verified.
    if (interrupted) return;
    const result = run();
    if (!isPromise(result)) resolve(result);
    else {
      result.then(resolve, (err: unknown) => {
        if (interrupted) log.debug({ err, rpc }, "rpc handler failed after its call had ended");
        reject(err);
      });
    }
  });
}

/** The handler may be waiting: its clean-up is requested, not awaited. */
function closeQuietly<T>(answers: AsyncIterator<T>, log: Logger, rpc: string): void {
  answers.return?.().then(undefined, (err: unknown) => {
    log.debug({ err, rpc }, "rpc stream failed after its call had ended");
  });
}
