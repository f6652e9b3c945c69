import { counter, gauge } from "@muster/kit";

const unpublishedMessages = gauge(
  "muster_outbox_unpublished_messages",
  "Messages that wait to be published (up to 100,000).",
  ["database"],
);
const oldestAge = gauge("muster_outbox_oldest_unpublished_age_seconds", "Age of the oldest waiting message.", [
  "database",
]);
const publishedMessages = counter("muster_outbox_published_total", "Messages acknowledged by a stream.", ["database"]);
const republishedMessages = counter(
  "muster_outbox_republished_total",
  "Messages to publish again because a stream lost its tail.",
  ["database", "stream"],
);
const deadLetters = counter("muster_outbox_dead_letters_total", "Messages no stream takes.", ["database"]);
const throttled = counter("muster_outbox_throttled_total", "Batches after which a heavy emitter paused for others.", [
  "database",
]);

const lastRound = gauge(
  "muster_outbox_relay_last_success_timestamp_seconds",
  "Unix time at which this process last published, or found nothing to publish; while another relay works it stays.",
  ["database"],
);

export type RelayMetrics = ReturnType<typeof relayMetrics>;

/** Metrics of a database's relay: waiting messages, their age, and the published, repeated and dead-lettered ones. */
export function relayMetrics(database: string) {
  const worked = () => lastRound.set({ database }, Date.now() / 1_000);
  // From the start: a relay that never works would otherwise have no series, and a first dead letter no increase.
  worked();
  deadLetters.inc({ database }, 0);
  oldestAge.set({ database }, 0);
  unpublishedMessages.set({ database }, 0);
  return {
    worked,
    throttled: () => throttled.inc({ database }),
    published: (count: number) => publishedMessages.inc({ database }, count),
    republished: (stream: string, count: number) => republishedMessages.inc({ database, stream }, count),
    buried: () => deadLetters.inc({ database }),
    backlog(backlog: { rows: number; oldestSeconds: number }) {
      unpublishedMessages.set({ database }, backlog.rows);
      oldestAge.set({ database }, backlog.oldestSeconds);
    },
  };
}
