import { counted } from "./counted.ts";
import type { Limit, Wave } from "./waves.ts";

/** Whose devices a rollout includes, in words. */
export function shareWords({ kind, percent, rings }: { kind: string; percent: number; rings: readonly unknown[] }) {
  if (kind === "guard") return "guard of the version: watches all of its updates";
  const share = `${percent} % of the devices`;
  if (rings.length === 0) return share;
  const waves = `in ${counted(rings.length, "waves")}`;
  return percent === 100 ? waves : `${share}, ${waves}`;
}

type Kinds = { kind: string; percent: number; rings: readonly unknown[]; openRings: number };

/** What kind of rollout it is, in a word or two, and how far it is open. */
export function kindWords({ kind, percent, rings, openRings }: Kinds): string {
  if (kind === "guard") return "Guard";
  const wave = rings.length > 0 ? [`Wave ${openRings} of ${rings.length}`] : [];
  const share = percent < 100 || rings.length === 0 ? [`${percent} %`] : [];
  return [...wave, ...share].join(", ");
}

/** How far a rollout is, in a line: of all devices where its waves say how many those are. */
export function doneWords({ succeeded, failed }: { succeeded: number; failed: number }, waves: readonly Wave[]) {
  const all = waves.reduce<number | null>(
    (sum, { devices }) => (sum === null || devices === null ? null : sum + devices),
    0,
  );
  const done = succeeded.toLocaleString();
  const updated = all ? `${done} of ${counted(all, "devices")} updated` : `${done} updated`;
  return failed > 0 ? `${updated}, ${failed.toLocaleString()} failed` : updated;
}

/** How many devices install it, and how many may start now; empty where none is or may. */
export function inFlightWords({
  state,
  inFlight,
  maxInFlight,
  budget,
  haltedParts,
}: {
  state: string;
  inFlight: number;
  maxInFlight: number;
  budget: number;
  haltedParts: readonly unknown[];
}): string {
  if (state !== "running") return inFlight > 0 ? `${counted(inFlight, "updates")} in progress will end.` : "";
  const now =
    inFlight > 0 ? [`${counted(inFlight, "devices")} updating now, at most ${maxInFlight.toLocaleString()}`] : [];
  const others = haltedParts.length > 0 ? " outside what is halted" : "";
  const more =
    budget > 0
      ? [`up to ${inFlight > 0 ? `${budget.toLocaleString()} more` : counted(budget, "devices")}${others} may start`]
      : [];
  const words = [...now, ...more].join("; ");
  return words === "" ? "" : `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

/** Failures against their limit, in words. */
export function limitWords({ failed, ended, limit }: Limit): string {
  const words = `${failed.toLocaleString()} of ${ended.toLocaleString()} failed`;
  return failed < limit ? `${words}, halts at ${limit.toLocaleString()}` : `${words}, limit ${limit.toLocaleString()}`;
}
