const recordEveryMs = 5_000;

/** Whether the contact of a gateway is to be recorded now: true at most every 5 s. */
export function contactDue(): () => boolean {
  let recordedAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - recordedAtMs <= recordEveryMs) return false;
    recordedAtMs = performance.now();
    return true;
  };
}
