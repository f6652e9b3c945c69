import type { ChainRow } from "./chain-row.ts";
import { rowText, type StreamFormat } from "./stream-sink.ts";

/** Facility "log audit" (RFC 5424, section 6.2.1). */
const facility = 13;
const severities = { success: 6, failure: 4, denied: 4 } as const;
const byteOrderMark = "\ufeff";
/** Milliseconds for which rows that were sent are sent again after a broken connection. */
export const resentMs = 60_000;

/**
 * Rows as messages of RFC 5424, each in a frame of RFC 5425. The structured data `muster@32473` holds the row's id, its
 * number in the chain and the organization, by which a receiver drops what came twice.
 */
export function syslogFrames(rows: readonly ChainRow[], format: StreamFormat, host: string): Buffer {
  return Buffer.concat(
    rows.map((row) => {
      const message = Buffer.from(messageOf(row, format, host));
      return Buffer.concat([Buffer.from(`${message.length} `), message]);
    }),
  );
}

function messageOf(row: ChainRow, format: StreamFormat, host: string): string {
  const { entry, seq } = row;
  const priority = facility * 8 + severities[entry.result];
  const ms = entry.timestamp.getTime();
  const time = Number.isNaN(ms) ? "-" : entry.timestamp.toISOString();
  const head = `<${priority}>1 ${time} ${word(host, 255)} muster-audit - ${word(entry.action, 32)}`;
  const data = Object.entries({ id: entry.id, seq, chainId: entry.chainId, format })
    .map(([name, value]) => `${name}="${String(value).replace(/["\\\]]/g, "\\$&")}"`)
    .join(" ");
  return `${head} [muster@32473 ${data}] ${byteOrderMark}${rowText(row, format)}`;
}

/** Printable ASCII without spaces, as fields of the header are; `-` for nothing. */
const word = (text: string, most: number): string => text.replace(/[^\x21-\x7e]/g, "").slice(0, most) || "-";

/** A batch that was sent: the last row before it, and when. */
export type SentBatch = { after: number; at: number };

/** What is kept of the batches that were sent, after another one. */
export const withSent = (recent: readonly SentBatch[], batch: SentBatch): SentBatch[] => [
  ...recent.filter(({ at }) => at >= batch.at - resentMs),
  batch,
];

/** The row behind which a broken connection begins again: before everything that was sent in the last minute. */
export function rewound(recent: readonly SentBatch[], cursorSeq: number, nowMs: number): number {
  return Math.min(cursorSeq, ...recent.filter(({ at }) => at >= nowMs - resentMs).map(({ after }) => after));
}
