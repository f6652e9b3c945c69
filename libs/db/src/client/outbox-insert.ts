import { isSpanContextValid, trace } from "@opentelemetry/api";
import { type Query, sql } from "./statement.ts";

/** A message that leaves with the transaction: its id is what consumers recognise repeats by (`<orgId>/<id>`). */
export type OutboxMessage = { subject: string; msgId: string; body: Uint8Array; traceparent?: string | null };

const rowsPerInsert = 1000;
/**
 * From this number of rows on, one statement with array parameters inserts all: it takes a third of the CPU time of a
 * list of values, which is parsed row by row.
 */
const manyRows = 16;

/** The inserts that store messages in their order; a message without a traceparent gets the active span's. */
export function outboxInserts(messages: readonly OutboxMessage[]): Query[] {
  const inserts: Query[] = [];
  for (let start = 0; start < messages.length; start += rowsPerInsert) {
    const rows = messages.slice(start, start + rowsPerInsert);
    inserts.push(rows.length < manyRows ? insertOfFew(rows) : insertOfMany(rows));
  }
  return inserts;
}

function insertOfFew(rows: readonly OutboxMessage[]): Query {
  const values = rows.flatMap((m) => [m.subject, m.msgId, m.body, m.traceparent ?? null]);
  const placeholders = rows.map((_, row) => `($${4 * row + 1}, $${4 * row + 2}, $${4 * row + 3}, $${4 * row + 4})`);
  return {
    text: `insert into outbox (subject, msg_id, body, traceparent) values ${placeholders.join(", ")}`,
    values,
  };
}

/** The bodies go as one value, split where each begins: in an array each would go as hexadecimal text. */
function insertOfMany(rows: readonly OutboxMessage[]): Query {
  let next = 1;
  const begins = rows.map(({ body }) => {
    const begin = next;
    next += body.length;
    return begin;
  });
  return sql`
    insert into outbox (subject, msg_id, body, traceparent)
    select subject, msg_id, substring(${Buffer.concat(rows.map(({ body }) => body))}::bytea from begins for bytes), traceparent
    from unnest(${rows.map(({ subject }) => subject)}::text[], ${rows.map(({ msgId }) => msgId)}::text[],
                ${begins}::int[], ${rows.map(({ body }) => body.length)}::int[],
                ${rows.map(({ traceparent }) => traceparent ?? null)}::text[])
      with ordinality as given (subject, msg_id, begins, bytes, traceparent, place)
    order by place`;
}

/** The W3C trace context of the active span, null outside of one. */
export function activeTraceparent(): string | null {
  const span = trace.getActiveSpan()?.spanContext();
  if (!span || !isSpanContextValid(span)) return null;
  return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, "0")}`;
}
