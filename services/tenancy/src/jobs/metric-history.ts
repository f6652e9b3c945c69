import type { Database } from "@muster/db";
import { counter, gauge, keepWorking, type Logger, repeatEvery, sleep, systemCaller } from "@muster/kit";
import {
  addSample,
  type HourSums,
  hourOf,
  type MetricSample,
  type MetricSink,
  newHourSums,
  packHour,
} from "../rules/metric-hours.ts";
import { dropMetricWeeks, insertMetricRows, type MetricRow, makeMetricWeeks } from "../store/metrics.ts";

const writeEveryMs = 5_000;
const maintainEveryMs = 3_600_000;
const rowsPerWrite = 1_000;
/** Pause between two writes, in which heartbeats take precedence. */
const pauseMs = 50;
const weeksAhead = 2;
const dayMs = 86_400_000;

const written = counter(
  "muster_tenancy_metric_rows_written_total",
  "Hours of devices written to the history of metrics.",
);
const dropped = counter(
  "muster_tenancy_metric_samples_dropped_total",
  "Reports of metrics left out of the history, since the process held METRICS_HISTORY_DEVICES_MAX devices.",
);
const held = gauge("muster_tenancy_metric_devices", "Devices with metrics of the current hour, not written yet.");

type Options = { db: Database; devicesMax: number; now: () => Date };

/**
 * The history of metrics: reports are summed up in memory, and written once their hour has ended, one row for each
 * device. A process that is killed loses its part of the hour; one that stops writes it.
 */
export class MetricHistory implements MetricSink {
  readonly #options: Options;
  #hour = -1;
  #current = new Map<string, HourSums>();
  /** Ended hours, oldest first. */
  readonly #ended: { hour: number; devices: Map<string, HourSums> }[] = [];

  constructor(options: Options) {
    this.#options = options;
  }

  /** Adds what a device has just reported. */
  add(deviceId: string, sample: MetricSample): void {
    const atMs = this.#options.now().getTime();
    this.#turn(hourOf(atMs));
    let sums = this.#current.get(deviceId);
    if (sums === undefined) {
      if (this.#current.size >= this.#options.devicesMax) {
        dropped.inc();
        return;
      }
      sums = newHourSums();
      this.#current.set(deviceId, sums);
    }
    addSample(sums, atMs, sample);
  }

  /** Writes the hours that have ended; with `all` the current one, too. What could not be written is kept. */
  async write({ all }: { all: boolean }, signal?: AbortSignal): Promise<number> {
    const { now } = this.#options;
    this.#turn(all ? Number.POSITIVE_INFINITY : hourOf(now().getTime()));
    held.set(this.#current.size);
    let count = 0;
    for (let oldest = this.#ended[0]; oldest && !signal?.aborted; oldest = this.#ended[0]) {
      count += await this.#writeSome(oldest);
      if (oldest.devices.size === 0) this.#ended.shift();
      else await sleep(all ? 0 : pauseMs, signal);
    }
    return count;
  }

  #turn(hour: number): void {
    if (hour <= this.#hour) return;
    if (this.#current.size > 0) this.#ended.push({ hour: this.#hour, devices: this.#current });
    this.#current = new Map();
    this.#hour = hour === Number.POSITIVE_INFINITY ? -1 : hour;
  }

  async #writeSome({ hour, devices }: { hour: number; devices: Map<string, HourSums> }): Promise<number> {
    const rows: MetricRow[] = [];
    for (const [id, sums] of devices) {
      if (rows.push({ device_id: id, hour, packed: packHour(sums) }) === rowsPerWrite) break;
    }
    await this.#options.db.tx({ caller: systemCaller("tenancy") }, (tx) => insertMetricRows(tx, rows));
    for (const { device_id: id } of rows) devices.delete(id);
    written.inc(rows.length);
    return rows.length;
  }
}

/** Writes ended hours, makes partitions ahead and drops those past `days`, until stopped; then writes what is held. */
export function startMetricHistory(options: Options & { log: Logger; days: number }): {
  history: MetricHistory;
  stop(): Promise<void>;
} {
  const { db, log, days, now } = options;
  const history = new MetricHistory(options);
  const writing = repeatEvery(
    writeEveryMs,
    () => history.write({ all: false }),
    (err) => log.warn({ err }, "metrics cannot be written now"),
  );
  const maintain = async () => {
    const made = await makeMetricWeeks(db, weeksAhead);
    const gone = await dropMetricWeeks(db, new Date(now().getTime() - days * dayMs));
    if (made + gone > 0) log.info({ made, gone }, "weeks of metrics");
  };
  const maintaining = keepWorking(maintainEveryMs, maintain, (err) =>
    log.warn({ err }, "weeks of metrics not kept now"),
  );
  return {
    history,
    async stop() {
      await Promise.all([writing.stop(), maintaining.stop()]);
      await history.write({ all: true }).catch((err: unknown) => log.warn({ err }, "metrics of this hour are lost"));
    },
  };
}
