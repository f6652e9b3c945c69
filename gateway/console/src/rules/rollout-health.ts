import { type Tone, worstFirst } from "./tone.ts";
import { type LimitedRollout, limitOf } from "./waves.ts";

type Rollout = LimitedRollout & { kind: string; state: string; haltedParts: readonly unknown[] };
type Shown = { word: string; tone: Tone };

const tones: Readonly<Record<string, Tone>> = { halted: "bad", running: "run", paused: "warn", completed: "good" };

/**
 * How a rollout is, in a word: one that halted for a part of the devices does not only run, one with half of the
 * failures that halt it is failing, and a guard watches what others offer.
 */
export function rolloutHealth(rollout: Rollout): Shown {
  const { kind, state, haltedParts } = rollout;
  if ((state === "running" || state === "paused") && haltedParts.length > 0) {
    return { word: "halted in part", tone: "bad" };
  }
  const { failed, limit } = limitOf(rollout);
  if (state === "running" && failed > 0 && failed * 2 >= limit) return { word: "failing", tone: "bad" };
  if (state === "running" && kind === "guard") return { word: "watching", tone: "good" };
  return { word: state, tone: tones[state] ?? "off" };
}

const areOver: ReadonlySet<string> = new Set(["completed", "cancelled"]);

/** Of a version's rollouts the one whose health is the version's: the worst of those that go on, else the first. */
export function tellingRollout<R extends Rollout>(rollouts: readonly R[]): R | null {
  const going = rollouts.filter(({ state }) => !areOver.has(state));
  return worstFirst(going, (each) => rolloutHealth(each).tone)[0] ?? rollouts[0] ?? null;
}
