import type { Database } from "@muster/db";
import { gauge, keepWorking, type Logger, type Repeating, setByHealth, systemCaller } from "@muster/kit";
import { streamHealth } from "../rules/stream-health.ts";
import { measuredStreams } from "../store/streams.ts";

const everyMs = 15_000;
const who = { caller: systemCaller("audit") };
const lagRows = gauge("muster_audit_stream_lag_rows", "Rows that the stream with the largest lag has yet to send.");
const lagSeconds = gauge(
  "muster_audit_stream_lag_seconds",
  "Age of the oldest row that an active stream has yet to send.",
);
const healthGauge = gauge("muster_audit_streams", "Streams of audit rows, by health.", ["health"]);

/** Measures streams until stopped. */
export function startStreamGauges({ db, log }: { db: Database; log: Logger }): Repeating {
  return keepWorking(
    everyMs,
    () => measureStreams(db),
    (err) => log.warn({ err }, "streams cannot be measured now"),
  );
}

/** Sets the largest lag of active streams, and how many streams there are by health. */
export async function measureStreams(db: Database): Promise<void> {
  const streams = await measuredStreams(db, who);
  let [rows, seconds] = [0, 0];
  for (const stream of streams) {
    if (stream.status !== "active") continue;
    rows = Math.max(rows, stream.head_seq - stream.cursor_seq);
    seconds = Math.max(seconds, stream.lag_seconds);
  }
  lagRows.set(rows);
  lagSeconds.set(seconds);
  setByHealth(
    healthGauge,
    streams.map((each) => streamHealth(each).status),
  );
}
