import { counter, gauge } from "@muster/kit";

export type RelayMetrics = ReturnType<typeof relayMetrics>;

/** Metrics of a database's relay: waiting messages, their age, and the published, repeated and dead-lettered ones. */
export function relayMetrics(database: string) {
  const rows = gauge("muster_outbox_unpublished_messages", "Messages that wait to be published (up to 100,000).", [
    "database",
  ]);
  const age = gauge("muster_outbox_oldest_unpublished_age_seconds", "Age of the oldest waiting message.", ["database"]);
  const published = counter("muster_outbox_published_total", "Messages acknowledged by a stream.", ["database"]);
  const republished = counter(
    "muster_outbox_republished_total",
    "Messages to publish again because a stream lost its tail.",
    ["database", "stream"],
  );
  const buried = counter("muster_outbox_dead_letters_total", "Messages no stream takes.", ["database"]);
  const rests = counter("muster_outbox_throttled_total", "Turns after which a heavy emitter paused for others.", [
    "database",
  ]);
  return {
    rested: () => rests.inc({ database }),
    published: (count: number) => published.inc({ database }, count),
    republished: (stream: string, count: number) => republished.inc({ database, stream }, count),
    buried: () => buried.inc({ database }),
    backlog(backlog: { rows: number; oldestSeconds: number }) {
      rows.set({ database }, backlog.rows);
      age.set({ database }, backlog.oldestSeconds);
    },
  };
}
