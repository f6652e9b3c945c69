import type { Interceptor } from "@connectrpc/connect";
import { context, propagation, SpanKind, trace } from "@opentelemetry/api";
import { node, tracing } from "@opentelemetry/sdk-node";

/** Registers an SDK that samples and keeps nothing: the cost of spans without that of an exporter. */
export function registerTelemetry(): void {
  const drop: tracing.SpanProcessor = {
    onStart() {},
    onEnd() {},
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  new node.NodeTracerProvider({ sampler: new tracing.AlwaysOnSampler(), spanProcessors: [drop] }).register();
}

/** What a stock client or server needs for one span per call and its propagation. */
export function spanInterceptor(side: "client" | "server"): Interceptor {
  const tracer = trace.getTracer("bench");
  const kind = side === "client" ? SpanKind.CLIENT : SpanKind.SERVER;
  return (next) => async (request) => {
    const parent =
      side === "client"
        ? context.active()
        : propagation.extract(context.active(), request.header, {
            keys: (header) => [...header.keys()],
            get: (header, name) => header.get(name) ?? undefined,
          });
    const span = tracer.startSpan(`${request.service.typeName}/${request.method.name}`, { kind }, parent);
    const spanContext = trace.setSpan(parent, span);
    if (side === "client") {
      propagation.inject(spanContext, request.header, { set: (header, name, value) => header.set(name, value) });
    }
    try {
      return await context.with(spanContext, () => next(request));
    } finally {
      span.end();
    }
  };
}
