import type { DescMethodStreaming } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { activeTracer, endSpan, sleep, startClientSpan, traceparentOf, withSpan } from "@muster/kit";
import { metadataNames } from "../caller/metadata.ts";
import { toAppError } from "../protocol/errors.ts";
import { recordClient } from "../protocol/metrics.ts";
import { rpcMethod } from "../protocol/rpc-method.ts";
import type { CallHeaders } from "./call-headers.ts";
import type { Patience } from "./patience.ts";

/** The one message of a server stream, to be sent as often as it takes. */
export async function repeatable<T>(input: AsyncIterable<T>): Promise<AsyncIterable<T>> {
  const messages: T[] = [];
  for await (const message of input) messages.push(message);
  return {
    async *[Symbol.asyncIterator]() {
      yield* messages;
    },
  };
}

/**
 * Opens a stream that servers refuse to open (connection refused, REFUSED_STREAM) again for as long as the patience
 * lasts.
 */
export async function untilTaken<R>(
  patience: Patience,
  signal: AbortSignal | undefined,
  open: () => Promise<R>,
): Promise<R> {
  let firstRefusedMs: number | null = null;
  for (let refusals = 1; ; refusals++) {
    try {
      const opened = await open();
      patience.answered();
      return opened;
    } catch (error) {
      if (!(error instanceof ConnectError) || error.code !== Code.Unavailable) throw error;
      firstRefusedMs ??= performance.now();
      const waitMs = patience.nextTryMs(refusals, firstRefusedMs);
      if (waitMs === null || signal?.aborted) throw error;
      await sleep(waitMs, signal);
    }
  }
}

/** Span and metrics of a stream cover its opening: its reader decides when it ends. */
export async function tracedStream<R>(
  method: DescMethodStreaming,
  header: CallHeaders,
  token: string | null,
  open: (headers: Headers) => Promise<R>,
): Promise<R> {
  const described = rpcMethod(method);
  const startedMs = performance.now();
  const headers = new Headers(header);
  if (token !== null) headers.set(metadataNames.caller, token);
  const tracer = activeTracer();
  const span = tracer && startClientSpan(tracer, described.rpc, described.attributes, headers.get("traceparent"));
  if (span) headers.set("traceparent", traceparentOf(span));
  let code = "ok";
  try {
    return await (span ? withSpan(span, () => open(headers)) : open(headers));
  } catch (error) {
    code = toAppError(error).code;
    throw error;
  } finally {
    if (span) endSpan(span, code);
    recordClient(described.rpc, code, startedMs);
  }
}
