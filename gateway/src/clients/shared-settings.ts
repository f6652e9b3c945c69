import type { CallOptions } from "@connectrpc/connect";
import { keepWorking, type Logger, type Repeating, type ServiceName, serviceNames } from "@muster/kit";
import { probeTimeoutMs } from "./health.ts";
import type { Services } from "./services.ts";

/** A setting that must be the same everywhere, and its value by process where it is not. */
export type Difference = { setting: string; values: Record<string, string> };

export type SharedSettings = Repeating & {
  /** What the last comparison found; a service that did not answer keeps its last known values. */
  differences(): Difference[];
};

const compareMs = 60_000;

/**
 * Compares the settings that processes share, of this gateway and of one process of each service: now and every minute.
 * Each change of what differs is logged once, as an error. `call` makes the options of a call with that deadline.
 */
export function compareSharedSettings(options: {
  own: Readonly<Record<string, string>>;
  probes: Services["probes"];
  call(timeoutMs: number): Promise<CallOptions>;
  log: Pick<Logger, "error" | "info" | "warn">;
  everyMs?: number;
}): SharedSettings {
  const { own, probes, call, log, everyMs = compareMs } = options;
  const byProcess = new Map<string, Readonly<Record<string, string>>>([["gateway", own]]);
  let found: Difference[] = [];

  const read = async (name: ServiceName) => {
    try {
      byProcess.set(name, (await probes[name].getInfo({}, await call(probeTimeoutMs))).sharedSettings);
    } catch {
      // Health shows that a service does not answer; its values stay as they were.
    }
  };
  const compare = async () => {
    await Promise.all(serviceNames.map(read));
    const now = differencesOf(byProcess);
    if (JSON.stringify(now) === JSON.stringify(found)) return;
    found = now;
    for (const { setting, values } of found) log.error({ setting, values }, "setting differs between processes");
    if (found.length === 0) log.info("settings no longer differ between processes");
  };
  const working = keepWorking(everyMs, compare, (err) => log.warn({ err }, "settings were not compared"));
  return { differences: () => found, stop: () => working.stop() };
}

/** Settings with more than one value, by name. */
export function differencesOf(byProcess: ReadonlyMap<string, Readonly<Record<string, string>>>): Difference[] {
  const settings = [...new Set([...byProcess.values()].flatMap((values) => Object.keys(values)))].sort();
  return settings.flatMap((setting) => {
    const entries = [...byProcess].flatMap(([process, { [setting]: value }]) =>
      value === undefined ? [] : [[process, value] as const],
    );
    const values = Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
    return new Set(Object.values(values)).size > 1 ? [{ setting, values }] : [];
  });
}

/** One line for a probe's reply: "ok", or what differs where. */
export function differencesText(differences: readonly Difference[]): string {
  if (differences.length === 0) return "ok";
  return differences
    .map(({ setting, values }) => {
      const each = Object.entries(values).map(([process, value]) => `${value} (${process})`);
      return `${setting} differs: ${each.join(", ")}`;
    })
    .join("; ");
}
