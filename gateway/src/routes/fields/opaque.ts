import { RenderedPage } from "../../route/reply.ts";

// JSON that belongs to others: its numbers, order, names and space stay as they were posted, so it is never parsed and
// written anew.

/** The JSON of a record, and of one more member that is a JSON text already; empty text is `{}`. */
export function withOpaque(record: object, name: string, json: string): string {
  return `${JSON.stringify(record).slice(0, -1)},${JSON.stringify(name)}:${json || "{}"}}`;
}

/** A page of records that are JSON texts. */
export function renderedPage(records: readonly string[], pagination: RenderedPage["pagination"]): RenderedPage {
  return new RenderedPage(records, pagination);
}
