import { reasonSentence } from "./reason-sentences.ts";

/** Fewer failures never halt by their share: one of two is chance. */
const failuresMin = 3;
/** The platform halts where so many failures are less probable than this at the tolerated share. */
const chance = 5e-4;

type Limits = { haltAfterFailures: number; haltPercent: number };

/** So many failures are tolerated whatever their share: more of them halt a rollout. */
export const toleratedFailures = ({ haltAfterFailures, haltPercent }: Limits, ended: number): number =>
  Math.max(haltAfterFailures, Math.floor((haltPercent * ended) / 100));

/**
 * The rule of agent-release (rules/rollout.ts), whose reply has the limits and not this number; a test compares both.
 * The fewest failures among `ended` updates that halt a rollout: so many that the tolerated share does not explain
 * them, or more than the number that is tolerated whatever their share.
 */
export function haltingFailures(limits: Limits, ended: number): number {
  const share = Math.min(1, limits.haltPercent / 100);
  const tolerated = toleratedFailures(limits, ended);
  for (
    let failed = Math.max(failuresMin, Math.floor(ended * share) + 1);
    failed <= Math.min(ended, tolerated);
    failed++
  ) {
    if (atLeast(failed, ended, share) < chance) return failed;
  }
  return tolerated + 1;
}

/** P(X ≥ failed) for X binomial of `ended` and `share`, beyond the mean: each term is smaller than the one before. */
function atLeast(failed: number, ended: number, share: number): number {
  if (share === 0) return 0;
  let exponent = failed * Math.log(share) + (ended - failed) * Math.log1p(-share);
  for (let at = 1; at <= failed; at++) exponent += Math.log((ended - failed + at) / at);
  let term = Math.exp(exponent);
  let sum = term;
  for (let at = failed; at < ended && term > sum * 1e-12; at++) {
    term *= ((ended - at) / (at + 1)) * (share / (1 - share));
    sum += term;
  }
  return sum;
}

/** What the line of each bar is, in words. */
export const haltSentence = ({ haltPercent }: Pick<Limits, "haltPercent">): string =>
  `It halts at the line: where clearly more than ${haltPercent} % fail.`;

/** A bar of failures in percent of its width: full from its limit on, and with room beyond the limit before. */
export function limitBar({ failed, limit }: { failed: number; limit: number }): { filled: number; mark: number } {
  const whole = failed < limit ? limit * 1.25 : failed;
  return { filled: (100 * failed) / whole, mark: (100 * limit) / whole };
}

/** Why a part was halted, with as many failures as the page counts: further updates may have ended since. */
export const partWords = (reason: string, { failed, succeeded }: { failed: number; succeeded: number }): string =>
  reason.replace(/^(\d+) of \d+ updates failed/, (said, then: string) =>
    failed > Number(then)
      ? `${failed.toLocaleString()} of ${(failed + succeeded).toLocaleString()} updates failed`
      : said,
  );

/** Whether something of a rollout halted it, as a whole or in a part. */
export const hasHalt = ({ reason, haltedParts }: { reason: string | null; haltedParts: readonly unknown[] }): boolean =>
  Boolean(reason) || haltedParts.length > 0;

/**
 * Why a rollout was halted, as a title and the rest of its sentence, with how many of those that count have failed by
 * now where further ones did after it.
 */
export function haltWords(reason: string, failed: number): { title: string; rest: string } {
  const counted = reason.replace(/^(\d+) failures?(?=[,;.])/, (said, then: string) =>
    failed > Number(then) ? `${said} (${failed.toLocaleString()} by now)` : said,
  );
  if (!/^\d/.test(counted)) return { title: "Halted.", rest: counted };
  const [, said, last] = /^(.*), the last: ([a-z_]+)\.?$/.exec(counted) ?? [];
  if (said === undefined || last === undefined) return { title: "Halted after", rest: counted };
  return { title: `Halted after ${said}.`, rest: `The last: ${reasonSentence(last)}` };
}
