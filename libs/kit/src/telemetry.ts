// Loaded by `node --import @muster/kit/telemetry` before anything else. Does nothing unless an OTLP endpoint is set.
const endpoint = process.env.OTEL_EXPORTER_OTLP_ENDPOINT ?? process.env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;

if (endpoint) {
  const { NodeSDK } = await import("@opentelemetry/sdk-node");
  const sdk = new NodeSDK({
    // Sampling (parent-based, 5 %) and the exporter follow the standard OTEL_* variables; these are our defaults.
    ...(process.env.OTEL_SERVICE_NAME ? { serviceName: process.env.OTEL_SERVICE_NAME } : {}),
  });
  process.env.OTEL_TRACES_SAMPLER ??= "parentbased_traceidratio";
  process.env.OTEL_TRACES_SAMPLER_ARG ??= "0.05";
  sdk.start();
  process.once("beforeExit", () => void sdk.shutdown());
}

export {};
