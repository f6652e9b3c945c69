import { SpanStatusCode, TraceFlags } from "@opentelemetry/api";
import {
  BatchSpanProcessor,
  createAlwaysRecordSampler,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace";

/**
 * Samples `ratio` of the traces that begin here and follows the decision of those that come in. What is not sampled is
 * recorded all the same, so that `spanProcessor` can keep what failed.
 */
export function sampler(ratio: number): Sampler {
  if (!(ratio >= 0 && ratio <= 1)) throw new Error(`OTEL_TRACES_SAMPLER_ARG must be from 0 to 1, not ${ratio}`);
  return createAlwaysRecordSampler(new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }));
}

/** Exports sampled spans in batches, and of all others those that ended in an error. */
export function spanProcessor(exporter: SpanExporter): SpanProcessor {
  const batches = new BatchSpanProcessor({ exporter });
  return {
    onStart: (span, context) => batches.onStart(span, context),
    onEnd: (span) => batches.onEnd(isSampled(span) || span.status.code !== SpanStatusCode.ERROR ? span : kept(span)),
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
}

const isSampled = (span: ReadableSpan) => (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0;

/** The same span, as if it had been sampled: exporters pass over those that were not. */
function kept(span: ReadableSpan): ReadableSpan {
  const spanContext = { ...span.spanContext(), traceFlags: TraceFlags.SAMPLED };
  return Object.create(span, { spanContext: { value: () => spanContext } }) as ReadableSpan;
}
