/** Fewer failures never halt by their share: one of two is chance. */
export const failuresMin = 3;
/** Chance that a part with exactly the tolerated share of failures is halted by one look at its counters. */
const chance = 5e-4;

/**
 * Whether this many failures among the ended updates are more than a share of `percent` explains: the lower bound of
 * Clopper and Pearson for the failure rate is above it.
 */
export function exceedsShare(failed: number, ended: number, percent: number): boolean {
  const share = Math.min(1, percent / 100);
  if (failed < failuresMin || failed <= ended * share) return false;
  return upperTail(failed, ended, share) < chance;
}

/** P(X ≥ k) for X binomial of n and q, where k > n·q: there each term is smaller than the one before. */
function upperTail(k: number, n: number, q: number): number {
  if (q === 0) return 0;
  let logTerm = k * Math.log(q) + (n - k) * Math.log1p(-q);
  for (let i = 1; i <= k; i++) logTerm += Math.log((n - k + i) / i);
  let term = Math.exp(logTerm);
  let sum = term;
  for (let i = k; i < n && term > sum * 1e-12; i++) {
    term *= ((n - i) / (i + 1)) * (q / (1 - q));
    sum += term;
  }
  return sum;
}
