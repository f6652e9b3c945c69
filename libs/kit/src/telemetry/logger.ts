import { context, trace } from "@opentelemetry/api";
import { destination, type Logger, pino } from "pino";
import { AppError } from "../errors/app-error.ts";

export type { Logger } from "pino";

/** Error fields that a log line may contain. Query parameters, bodies and headers never do. */
function serializeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const fields: Error & { code?: unknown; constraint?: unknown; table?: unknown } = error;
  return {
    type: error.name,
    message: error.message,
    code: fields.code,
    ...(fields.constraint ? { constraint: fields.constraint } : {}),
    ...(fields.table ? { table: fields.table } : {}),
    stack: error instanceof AppError ? undefined : error.stack,
    ...(fields.cause ? { cause: serializeError(fields.cause) } : {}),
  };
}

/** JSON lines on stdout with service name and, inside a span, trace ids. */
export function createLogger(service: string, level: string = "info"): Logger {
  return pino(
    {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: serializeError },
      formatters: { level: (label) => ({ level: label }) },
      mixin() {
        const span = trace.getSpanContext(context.active());
        return span ? { traceId: span.traceId, spanId: span.spanId } : {};
      },
    },
    destination({ dest: 1, sync: true }),
  );
}
