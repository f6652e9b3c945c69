// Loaded by `node --import @muster/kit/telemetry` before anything else. Loads nothing of the SDK unless an OTLP
// endpoint is set: /metrics is ours and needs no SDK. Endpoints, headers, certificates and intervals follow the
// standard OTEL_* variables.
import { type TelemetrySettings, telemetrySettings } from "./telemetry-settings.ts";

async function traces({ traces: protocol, sampleRatio }: TelemetrySettings) {
  if (protocol === null) return {};
  const { sampler, spanProcessor } = await import("./telemetry-sampling.ts");
  const { OTLPTraceExporter } =
    protocol === "grpc"
      ? await import("@opentelemetry/exporter-trace-otlp-grpc")
      : await import("@opentelemetry/exporter-trace-otlp-proto");
  return { sampler: sampler(sampleRatio), spanProcessors: [spanProcessor(new OTLPTraceExporter())] };
}

async function metrics({ metrics: protocol, metricsIntervalMs }: TelemetrySettings) {
  if (protocol === null) return { metricReaders: [] };
  const { PeriodicExportingMetricReader } = await import("@opentelemetry/sdk-metrics");
  const { prometheusMetrics } = await import("./otlp-metrics.ts");
  const { OTLPMetricExporter } =
    protocol === "grpc"
      ? await import("@opentelemetry/exporter-metrics-otlp-grpc")
      : await import("@opentelemetry/exporter-metrics-otlp-proto");
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter(),
    exportIntervalMillis: metricsIntervalMs,
    exportTimeoutMillis: Math.min(metricsIntervalMs, 30_000),
    metricProducers: [prometheusMetrics],
  });
  return { metricReaders: [reader] };
}

async function start(settings: TelemetrySettings): Promise<void> {
  if (settings.traces === null && settings.metrics === null) return;
  const { NodeSDK } = await import("@opentelemetry/sdk-node");
  const { envDetector, hostDetector, processDetector, serviceInstanceIdDetector } = await import(
    "@opentelemetry/resources"
  );
  process.env.OTEL_LOGS_EXPORTER ??= "none";
  if (settings.traces === null) process.env.OTEL_TRACES_EXPORTER = "none";
  new NodeSDK({
    ...(await traces(settings)),
    ...(await metrics(settings)),
    // A pod's containers start again under its name: each process is an instance of its own.
    resourceDetectors: [serviceInstanceIdDetector, processDetector, hostDetector, envDetector],
    ...(settings.serviceName ? { serviceName: settings.serviceName } : {}),
  }).start();
}

try {
  await start(telemetrySettings(process.env));
} catch (error) {
  process.stderr.write(`telemetry: ${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}
