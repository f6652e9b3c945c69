import { connect } from "../connection.ts";
import { done, wrongUsage } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { tableWriter } from "../table.ts";

const steps = ["5m", "15m", "30m", "1h", "6h", "1d"] as const;

export type MetricOptions = Globals & { from?: string; to?: string; step: string };

/** Shows the history of a device's metrics: means in percent, and the maximum of its processors. */
export async function deviceMetrics(io: Io, id: string, options: MetricOptions): Promise<void> {
  const step = steps.find((each) => each === options.step);
  if (step === undefined) throw wrongUsage(`--step takes one of ${steps.join(", ")}, not "${options.step}"`);
  const { from, to } = options;
  const query = { step, ...(from ? { from } : {}), ...(to ? { to } : {}) };
  const { muster } = connect(io, options);
  const { data } = await done(muster.GET("/api/v1/devices/{id}/metrics", { params: { path: { id }, query } }));
  if (options.json) return void io.stdout.write(`${JSON.stringify(data, null, 2)}\n`);
  const rows = data.map(({ at, cpu, memory, disk }) => ({
    at,
    cpu: cpu?.mean ?? null,
    cpuMax: cpu?.max ?? null,
    memory: memory?.mean ?? null,
    disk: disk?.mean ?? null,
  }));
  io.stdout.write(tableWriter(["at", "cpu", "cpuMax", "memory", "disk"])(rows));
}
