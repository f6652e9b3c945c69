import { randomBytes } from "node:crypto";
import {
  type Attributes,
  context,
  isSpanContextValid,
  metrics,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import { settledWithin } from "../timing/retry.ts";

const scope = "@muster";
const traceparentPattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The provider of @opentelemetry/api: a proxy whose delegate an SDK sets. */
type ProxyProvider = TracerProvider & {
  forceFlush?(): Promise<void>;
  getDelegate?(): TracerProvider;
  getDelegateTracer?(name: string): Tracer | undefined;
};

/** What an SDK adds to the interface of a provider. */
type Flushing = { getMeter?: unknown; forceFlush?(): Promise<void> };

let lastDelegate: TracerProvider | undefined;
let lastTracer: Tracer | undefined;

/** The tracer, or undefined when no SDK is registered: then spans are not even made. */
export function activeTracer(): Tracer | undefined {
  const provider: ProxyProvider = trace.getTracerProvider();
  const delegate = provider.getDelegate?.() ?? provider;
  if (delegate !== lastDelegate) {
    lastDelegate = delegate;
    lastTracer = provider.getDelegateTracer ? provider.getDelegateTracer(scope) : provider.getTracer(scope);
  }
  return lastTracer;
}

/** A span for a call or request that comes in, in the trace that it names, else the first of a trace. */
export function startServerSpan(tracer: Tracer, rpc: string, attributes: Attributes, traceparent: string | null): Span {
  const parent = remoteParent(traceparent);
  return tracer.startSpan(rpc, { kind: SpanKind.SERVER, attributes }, parent ?? ROOT_CONTEXT);
}

/**
 * A span in the trace that a message or a row names; undefined without a tracer, and where that trace is not sampled.
 */
export function startFollowing(
  name: string,
  kind: SpanKind,
  attributes: Attributes,
  traceparent: string | null,
): Span | undefined {
  if (traceparent === null || !traceparent.endsWith("1")) return undefined;
  const parent = remoteParent(traceparent);
  return parent && activeTracer()?.startSpan(name, { kind, attributes }, parent);
}

/** A child of the active span; undefined where nothing is sampled, so that what is frequent costs nothing then. */
export function startSampledChild(name: string, kind: SpanKind, attributes: Attributes): Span | undefined {
  const active = trace.getActiveSpan()?.spanContext();
  if (!active || (active.traceFlags & 1) !== 1) return undefined;
  return activeTracer()?.startSpan(name, { kind, attributes });
}

/** Child of the active span, else of the trace that the call's own metadata names. */
export function startClientSpan(tracer: Tracer, rpc: string, attributes: Attributes, traceparent: string | null): Span {
  const active = context.active();
  const parent = trace.getSpanContext(active) ? active : (remoteParent(traceparent) ?? active);
  return tracer.startSpan(rpc, { kind: SpanKind.CLIENT, attributes }, parent);
}

/** W3C traceparent that names this span as parent. */
export function traceparentOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${(traceFlags & 1) === 1 ? "01" : "00"}`;
}

/** W3C traceparent of a trace that nobody samples, for calls that would begin one each time; failures are kept. */
export function unsampledTraceparent(): string {
  return `00-${randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-00`;
}

/** Exports the remaining spans and last metrics, for at most two seconds: those of a process that ends are not lost. */
export async function flushTelemetry(): Promise<void> {
  const provider: ProxyProvider = trace.getTracerProvider();
  const delegate: ProxyProvider = provider.getDelegate?.() ?? provider;
  const meters: Flushing = metrics.getMeterProvider();
  const flushing = [delegate, meters].flatMap((each) => each.forceFlush?.().catch(() => undefined) ?? []);
  if (flushing.length === 0) return;
  // A collector that is away is no reason to end with an error.
  await settledWithin(2_000, Promise.all(flushing));
}

export function withSpan<T>(span: Span, run: () => T): T {
  return context.with(trace.setSpan(context.active(), span), run);
}

export function endSpan(span: Span, code: string): void {
  if (code !== "ok" && span.isRecording()) {
    span.setAttribute("error.type", code);
    span.setStatus({ code: SpanStatusCode.ERROR, message: code });
  }
  span.end();
}

function remoteParent(traceparent: string | null) {
  const match = traceparent === null ? null : traceparentPattern.exec(traceparent);
  if (!match) return undefined;
  const [, traceId = "", spanId = "", flags = ""] = match;
  const spanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  return isSpanContextValid(spanContext) ? trace.setSpanContext(ROOT_CONTEXT, spanContext) : undefined;
}

export { SpanKind };
