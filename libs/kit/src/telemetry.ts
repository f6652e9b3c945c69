// Loaded by `node --import @muster/kit/telemetry` before anything else. Does nothing unless an OTLP endpoint is set.
const endpoint = process.env.OTEL_EXPORTER_OTLP_ENDPOINT ?? process.env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;

if (endpoint) {
  const protocol = process.env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? process.env.OTEL_EXPORTER_OTLP_PROTOCOL ?? "grpc";
  const { NodeSDK } = await import("@opentelemetry/sdk-node");
  const { sampler, spanProcessor } = await import("./telemetry-sampling.ts");
  const { OTLPTraceExporter } =
    protocol === "grpc"
      ? await import("@opentelemetry/exporter-trace-otlp-grpc")
      : await import("@opentelemetry/exporter-trace-otlp-proto");
  // Endpoint, headers and certificates follow the standard OTEL_* variables. /metrics is ours and needs no SDK.
  process.env.OTEL_METRICS_EXPORTER ??= "none";
  process.env.OTEL_LOGS_EXPORTER ??= "none";
  new NodeSDK({
    sampler: sampler(Number(process.env.OTEL_TRACES_SAMPLER_ARG ?? "0.05")),
    spanProcessors: [spanProcessor(new OTLPTraceExporter())],
    ...(process.env.OTEL_SERVICE_NAME ? { serviceName: process.env.OTEL_SERVICE_NAME } : {}),
  }).start();
}

export {};
