import { z } from "zod";
import { loadConfig, whole } from "../settings/config.ts";
import { webUrl } from "../settings/setting-formats.ts";

const protocol = z.enum(["grpc", "http/protobuf"]);

/** The standard variables of OpenTelemetry that are ours to read; the SDK reads endpoints, headers and certificates. */
const settings = z.object({
  OTEL_EXPORTER_OTLP_ENDPOINT: webUrl().optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: webUrl().optional(),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: webUrl().optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol.default("grpc"),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol.optional(),
  OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: protocol.optional(),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(0.05),
  OTEL_METRICS_EXPORTER: z.enum(["none", "otlp"]).default("none"),
  OTEL_METRIC_EXPORT_INTERVAL: whole(60_000, 1_000, 3_600_000),
  OTEL_SERVICE_NAME: z.string().optional(),
});

export type TelemetrySettings = {
  /** Null: none are exported. */
  traces: z.infer<typeof protocol> | null;
  metrics: z.infer<typeof protocol> | null;
  sampleRatio: number;
  metricsIntervalMs: number;
  serviceName: string | undefined;
};

/** What is exported, and how. Throws ConfigError that names each variable that cannot be read. */
export function telemetrySettings(env: NodeJS.ProcessEnv): TelemetrySettings {
  const config = loadConfig(settings, env);
  const all = config.OTEL_EXPORTER_OTLP_PROTOCOL;
  const hasTraces = config.OTEL_EXPORTER_OTLP_ENDPOINT ?? config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const hasMetrics = config.OTEL_EXPORTER_OTLP_ENDPOINT ?? config.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT;
  return {
    traces: hasTraces ? (config.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? all) : null,
    metrics:
      hasMetrics && config.OTEL_METRICS_EXPORTER === "otlp"
        ? (config.OTEL_EXPORTER_OTLP_METRICS_PROTOCOL ?? all)
        : null,
    sampleRatio: config.OTEL_TRACES_SAMPLER_ARG,
    metricsIntervalMs: config.OTEL_METRIC_EXPORT_INTERVAL,
    serviceName: config.OTEL_SERVICE_NAME,
  };
}
