type Rollout = {
  rings: readonly { name: string }[];
  openRings: number;
  percent: number;
  succeeded: number;
  failed: number;
  inFlight: number;
  failuresBeforeResume: number;
  haltAfterFailures: number;
  haltPercent: number;
};

export type Wave = {
  name: string;
  state: "open" | "waits";
  isNewest: boolean;
  /** Devices that were updated and that failed; null where the counts of the rollout are those of several waves. */
  ended: { succeeded: number; failed: number } | null;
};

/** The waves in their order: those that are open, and those that wait for the ones before them. */
export function wavesOf({
  rings,
  openRings,
  percent,
  succeeded,
  failed,
}: Pick<Rollout, "rings" | "openRings" | "percent" | "succeeded" | "failed">): Wave[] {
  const ended = { succeeded, failed };
  if (rings.length === 0) return [{ name: `${percent} % of the devices`, state: "open", isNewest: true, ended }];
  return rings.map(({ name }, at) => ({
    name,
    state: at < openRings ? "open" : "waits",
    isNewest: at === openRings - 1,
    ended: at === 0 && openRings === 1 ? ended : null,
  }));
}

/** Failures that count, and how many may fail among as many as have answered: the larger of both limits. */
export function limitOf(rollout: Omit<Rollout, "rings" | "openRings" | "percent">): {
  failed: number;
  ended: number;
  limit: number;
} {
  const failed = Math.max(0, rollout.failed - rollout.failuresBeforeResume);
  const ended = rollout.succeeded + failed;
  const byShare = Math.ceil((ended * rollout.haltPercent) / 100);
  return { failed, ended, limit: Math.max(rollout.haltAfterFailures, byShare) };
}
