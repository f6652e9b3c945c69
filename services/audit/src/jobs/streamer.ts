import type { Database } from "@muster/db";
import { counter, createCounts, type Logger, ownMeta, sleep, systemCaller } from "@muster/kit";
import { auditEvent } from "@muster/service";
import { pushTimeoutMs } from "../clients/webhook-pushes.ts";
import { type SendDeps, type Sent, sendBatch } from "../commands/send-batch.ts";
import { batchRows, partnersAtShare, streamDelayMs, takeBatch } from "../rules/stream.ts";
import { rewound, withSent } from "../rules/syslog.ts";
import { readChain } from "../store/chain-rows.ts";
import {
  beginBatch,
  claimStream,
  isAnyStreamActive,
  rewindStream,
  type StreamRow,
  settleRefused,
  settleTaken,
  settleUnsent,
} from "../store/streams.ts";
import { startStreamGauges } from "./stream-gauges.ts";

export type StreamerDeps = SendDeps & {
  db: Database;
  log: Logger;
  now: () => Date;
  /** Streams that this process sends concurrently. */
  concurrency: number;
  /** Hours of failing after which a stream is marked failed. */
  failedAfterHours: number;
  pollMs: number;
};

const who = { caller: systemCaller("audit") };
const leaseMs = pushTimeoutMs + 15_000;
/** Shortest pause between checks while there is no active stream. */
const idleMs = 5_000;
const rowsCounter = counter("muster_audit_stream_rows_sent_total", "Rows that streams' receivers accepted.");
const refusedCounter = counter(
  "muster_audit_stream_batches_rejected_total",
  "Batches of streams that the receiver did not accept.",
);

/** Sends rows of chains to where their streams lead, each stream one batch at a time, until stopped. */
export function startStreamer(deps: StreamerDeps): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const sending = new Set<Promise<void>>();
  /** Streams that are being sent, by partner. */
  const held = createCounts();
  const run = async (stream: StreamRow) => {
    try {
      await workOn(deps, stream);
    } catch (err) {
      // Its lease expires, and the next holder marks the batch as a possible repeat.
      deps.log.warn({ err, streamId: stream.id }, "stream cannot continue now");
    }
  };
  const hand = async () => {
    while (!signal.aborted) {
      let stream: StreamRow | null = null;
      let pauseMs = deps.pollMs;
      try {
        if (sending.size < deps.concurrency) {
          // Only reads: an idle cluster writes nothing.
          const isAny = await deps.db.inOneBatch(who, isAnyStreamActive, { readOnly: true });
          if (isAny) stream = await claim(deps, partnersAtShare(deps.concurrency, held));
          else pauseMs = Math.max(idleMs, pauseMs);
        }
      } catch (err) {
        deps.log.warn({ err }, "streams cannot continue now");
        await sleep(2_000, signal);
      }
      if (stream) {
        const { partner_id: partnerId } = stream;
        held.add(partnerId, 1);
        const work = run(stream).finally(() => {
          sending.delete(work);
          held.add(partnerId, -1);
        });
        sending.add(work);
        continue;
      }
      // A stream that was just sent may be due again at once.
      const pause = sleep(pauseMs, signal);
      await (sending.size > 0 ? Promise.race([pause, ...sending]) : pause);
    }
    await Promise.all(sending);
  };
  const gauges = startStreamGauges(deps);
  const running = hand();
  return {
    async stop() {
      stopping.abort();
      await Promise.all([running, gauges.stop()]);
    },
  };
}

const claim = ({ db }: StreamerDeps, without: readonly string[]) =>
  db.tx(who, (tx) => claimStream(tx, leaseMs, without));

/** Sends the next batch of one stream; false when none is due. */
export async function advanceStream(deps: StreamerDeps): Promise<boolean> {
  const stream = await claim(deps, []);
  if (stream) await workOn(deps, stream);
  return stream !== null;
}

async function workOn(deps: StreamerDeps, stream: StreamRow): Promise<void> {
  const { db } = deps;
  const { rows: next, head } = await readChain(db, who, stream.org_id, stream.cursor_seq, batchRows);
  const started = stream.batch_to === null ? [] : next.filter(({ seq }) => seq <= (stream.batch_to ?? 0));
  const rows = started.length > 0 ? started : takeBatch(next, stream.type);
  const last = rows.at(-1);
  if (!last) {
    // Pruned before it was sent: the next batch's `previousSeq` shows the gap.
    await db.tx(who, (tx) => settleTaken(tx, stream, Math.max(stream.cursor_seq, head?.baseSeq ?? 0), 0));
    return;
  }
  if (!(await db.tx(who, (tx) => beginBatch(tx, stream, last.seq)))) return;
  const result = await sendBatch(deps, stream, rows);
  if (result.status === "taken") {
    rowsCounter.inc(rows.length);
    const sent = { after: stream.cursor_seq, at: deps.now().getTime() };
    const recent = stream.type === "syslog" ? withSent(stream.recent, sent) : stream.recent;
    await db.tx(who, (tx) => settleTaken(tx, { ...stream, recent }, last.seq, rows.length), { retry: true });
    return;
  }
  if (result.status === "unsent") return await db.tx(who, (tx) => settleUnsent(tx, stream), { retry: true });
  refusedCounter.inc();
  await refuse(deps, stream, result);
}

async function refuse(
  { db, log, now, failedAfterHours }: StreamerDeps,
  stream: StreamRow,
  { error, isDoubtful, isGone }: Extract<Sent, { status: "refused" }>,
): Promise<void> {
  const at = now();
  const failingMs = stream.failing_since ? at.getTime() - stream.failing_since.getTime() : 0;
  const fails = isGone || failingMs >= failedAfterHours * 3_600_000;
  const delayMs = streamDelayMs(stream.failures + 1);
  await db.tx(
    who,
    async (tx) => {
      // Syslog knows no acknowledgement: what a broken connection took may be lost (docs/audit-streams.md#syslog).
      if (stream.type === "syslog")
        await rewindStream(tx, stream, rewound(stream.recent, stream.cursor_seq, at.getTime()));
      const counted = await settleRefused(tx, stream, { error, delayMs, isDoubtful, fails });
      if (!counted || !fails) return;
      const meta = ownMeta();
      const fact = {
        action: "audit.stream.fail",
        resource: { type: "audit_stream", id: stream.id, name: stream.name },
        orgId: stream.org_id,
        partnerId: stream.partner_id,
        details: { reason: isGone ? "gone" : "exhausted", cursorSeq: stream.cursor_seq },
      };
      tx.emit(auditEvent("audit", { ...who, meta }, fact, at));
    },
    { retry: true },
  );
  log.warn({ streamId: stream.id, error, failures: stream.failures + 1, fails }, "batch of audit rows not accepted");
}
