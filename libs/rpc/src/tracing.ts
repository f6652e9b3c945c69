import {
  type Attributes,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";

const scope = "@muster/rpc";
const traceparentPattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The provider of @opentelemetry/api: a proxy whose delegate an SDK sets. */
type ProxyProvider = TracerProvider & {
  getDelegate?(): TracerProvider;
  getDelegateTracer?(name: string): Tracer | undefined;
};

let lastDelegate: TracerProvider | undefined;
let lastTracer: Tracer | undefined;

/** The tracer, or undefined when no SDK is registered: then spans are not even made. */
export function activeTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider() as ProxyProvider;
  const delegate = provider.getDelegate?.() ?? provider;
  if (delegate !== lastDelegate) {
    lastDelegate = delegate;
    lastTracer = provider.getDelegateTracer ? provider.getDelegateTracer(scope) : provider.getTracer(scope);
  }
  return lastTracer;
}

export function startServerSpan(tracer: Tracer, rpc: string, attributes: Attributes, traceparent: string | null): Span {
  const parent = remoteParent(traceparent);
  return tracer.startSpan(rpc, { kind: SpanKind.SERVER, attributes }, parent ?? ROOT_CONTEXT);
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

export function withSpan<T>(span: Span, run: () => T): T {
  return context.with(trace.setSpan(context.active(), span), run);
}

export function endSpan(span: Span, code: string): void {
  if (code !== "ok" && span.isRecording()) {
    span.setAttribute("rpc.muster.error_code", code);
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
