import type { CallOptions } from "@connectrpc/connect";
import { activeTracer, startClientSpan, traceparentOf } from "@muster/kit";
import type { Span } from "@opentelemetry/api";
import { metadataNames } from "../caller/metadata.ts";
import type { rpcMethod } from "../protocol/rpc-method.ts";

export type CallHeaders = CallOptions["headers"];

/** Header lines of a unary call, flat, and its span when it is traced. */
export function headersOf(
  described: ReturnType<typeof rpcMethod>,
  allowedMs: number,
  header: CallHeaders,
  token: string | null,
): { headers: string[]; span: Span | undefined } {
  const tracer = activeTracer();
  const headers = ["content-type", "application/proto", "connect-protocol-version", "1"];
  headers.push("connect-timeout-ms", String(Math.max(1, Math.floor(allowedMs))));
  if (token !== null) headers.push(metadataNames.caller, token);
  const callerTraceparent = appendHeaders(headers, header, tracer !== undefined);
  if (!tracer) return { headers, span: undefined };
  const span = startClientSpan(tracer, described.rpc, described.attributes, callerTraceparent);
  headers.push("traceparent", traceparentOf(span));
  return { headers, span };
}

/** Appends the call's own headers; returns its traceparent, which is left out when a span replaces it. */
function appendHeaders(raw: string[], header: CallHeaders, replaceTraceparent: boolean): string | null {
  let traceparent: string | null = null;
  const append = (name: string, value: string) => {
    if (name === "traceparent") {
      traceparent = value;
      if (replaceTraceparent) return;
    }
    raw.push(name, value);
  };
  if (header === undefined) return null;
  // Asking for `Headers` would load Node's fetch, 2 MB, into each process.
  if (isPairs(header)) for (const [name = "", value = ""] of header) append(name.toLowerCase(), value);
  else for (const name in header) append(name, header[name] ?? "");
  return traceparent;
}

/** Whether it is a `Headers` or an array. */
const isPairs = (header: NonNullable<CallHeaders>): header is Headers | [string, string][] => Symbol.iterator in header;
