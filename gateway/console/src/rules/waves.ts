import { haltingFailures } from "./halting-failures.ts";
import type { Tone } from "./tone.ts";

/** What came of a rollout's updates, and what halts it. */
export type LimitedRollout = {
  succeeded: number;
  failed: number;
  failuresBeforeResume: number;
  haltAfterFailures: number;
  haltPercent: number;
};
type Rollout = LimitedRollout & { rings: readonly unknown[]; percent: number; inFlight: number };

/** Devices that were offered the version, by what came of it. */
type Counts = { inFlight: number; succeeded: number; failed: number };

/** A wave as the API counts it; `devices` are those that it included when the rollout was created. */
export type CountedWave = Counts & { name: string; isOpen: boolean; devices: number; offered: number };

export type Wave = Counts & {
  name: string;
  state: "open" | "waits";
  isNewest: boolean;
  /** Null where nothing has counted them. */
  devices: number | null;
};

/** The waves in their order: those that are open, and those that wait for the ones before them. */
export function wavesOf(rollout: Rollout, counted: readonly CountedWave[]): Wave[] {
  const { percent, inFlight, succeeded, failed } = rollout;
  if (rollout.rings.length === 0) {
    const name = `${percent} % of the devices`;
    return [{ name, state: "open", isNewest: true, devices: null, inFlight, succeeded, failed }];
  }
  return counted.map(({ name, isOpen, devices, offered, ...counts }, at) => ({
    name,
    state: isOpen ? "open" : "waits",
    isNewest: isOpen && !counted[at + 1]?.isOpen,
    // Devices that came later are included, too.
    devices: Math.max(devices, offered),
    inFlight: counts.inFlight,
    succeeded: counts.succeeded,
    failed: counts.failed,
  }));
}

/** How far a wave is, as a sentence; `at` is its position. */
export function waveWords({ state, isNewest, inFlight, succeeded, failed }: Wave, at: number): string {
  if (state === "waits") return `waits for wave ${at}`;
  const parts = [
    [succeeded, "done"],
    [failed, "failed"],
    [inFlight, "in progress"],
  ] as const;
  const said = parts.filter(([count]) => count > 0).map(([count, what]) => `${count.toLocaleString()} ${what}`);
  if (said.length === 0) return isNewest ? "open now, nothing offered yet" : "nothing offered yet";
  return said.join(", ");
}

/** When the next wave opens; empty where none is left, or nobody opens one. */
export function nextWaveWords(
  { state, waveSuccessPercent }: { state: string; waveSuccessPercent: number | null },
  waves: readonly Pick<Wave, "state">[],
): string {
  if (!waves.some((wave) => wave.state === "waits")) return "";
  if (state === "halted" || state === "paused") return `no wave opens while it is ${state}`;
  if (state !== "running") return "";
  return waveSuccessPercent === null ? "the next opens by hand" : `the next opens at ${waveSuccessPercent} % success`;
}

/** `limit`: the fewest failures that halt it among as many as have answered. */
export type Limit = { failed: number; ended: number; limit: number };

/** Failures of a rollout that count, against those that halt it. */
export function limitOf(rollout: LimitedRollout): Limit {
  const failed = Math.max(0, rollout.failed - rollout.failuresBeforeResume);
  const ended = rollout.succeeded + failed;
  return { failed, ended, limit: haltingFailures(rollout, ended) };
}

/** How near failures are to their limit. */
export const limitTone = ({ failed, limit }: Pick<Limit, "failed" | "limit">): Tone =>
  failed >= limit ? "bad" : failed * 2 >= limit ? "warn" : "good";

/** The same of each wave that has answered, in their order, where there are several of them. */
export function limitsByWave(rollout: Rollout, waves: readonly Wave[]): (Limit & { name: string })[] {
  if (waves.length < 2) return [];
  return waves.flatMap(({ name, succeeded, failed }) => {
    const ended = succeeded + failed;
    return ended === 0 ? [] : [{ name, failed, ended, limit: haltingFailures(rollout, ended) }];
  });
}
