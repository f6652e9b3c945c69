import { isSpanContextValid, trace } from "@opentelemetry/api";
import type { Query } from "./statement.ts";

/** A message that leaves with the transaction: its id is what consumers judge repeats by (`<orgId>/<id>`). */
export type OutboxMessage = { subject: string; msgId: string; body: Uint8Array; traceparent?: string | null };

const columns = 4;
const rowsPerInsert = 1000;

/** The inserts that store messages in their order; without a traceparent of its own a message takes the active span's. */
export function outboxInserts(messages: readonly OutboxMessage[]): Query[] {
  const inserts: Query[] = [];
  for (let start = 0; start < messages.length; start += rowsPerInsert) {
    const rows = messages.slice(start, start + rowsPerInsert);
    const placeholders = rows.map((_, row) => {
      const first = row * columns;
      return `($${first + 1}, $${first + 2}, $${first + 3}, $${first + 4})`;
    });
    inserts.push({
      text: `insert into outbox (subject, msg_id, body, traceparent) values ${placeholders.join(", ")}`,
      values: rows.flatMap((m) => [m.subject, m.msgId, m.body, m.traceparent ?? null]),
    });
  }
  return inserts;
}

/** The W3C trace context of the active span, null outside of one. */
export function activeTraceparent(): string | null {
  const span = trace.getActiveSpan()?.spanContext();
  if (!span || !isSpanContextValid(span)) return null;
  return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, "0")}`;
}
