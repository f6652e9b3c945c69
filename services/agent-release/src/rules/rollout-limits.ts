import type { FieldErrors } from "@muster/kit";
import { guardLimits } from "./rollout.ts";

/** Numbers of a rollout, by the names that clients see. */
export const limitNames = [
  "percent",
  "openRings",
  "maxInFlight",
  "haltAfterFailures",
  "haltPercent",
  "soakSeconds",
  "waveSuccessPercent",
] as const;

/** Those that a request or a template names. */
export type NamedLimits = { [K in (typeof limitNames)[number]]?: number | undefined };

/** As they are stored. */
export type RolloutLimits = {
  percent: number;
  open_rings: number;
  max_in_flight: number;
  halt_failures: number;
  halt_percent: number;
  soak_seconds: number;
  wave_success_percent: number | null;
};

/** The numbers that a request or a template has. */
export function limitsNamed(from: NamedLimits): NamedLimits {
  return Object.fromEntries(limitNames.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])));
}

/** All numbers of a new rollout with that many rings; adds an error for each that is out of its bounds. */
export function readLimits(named: NamedLimits, rings: number, errors: FieldErrors): RolloutLimits {
  const limits = {
    percent: named.percent ?? 100,
    open_rings: named.openRings ?? Math.min(1, rings),
    max_in_flight: named.maxInFlight ?? guardLimits.maxInFlight,
    halt_failures: named.haltAfterFailures ?? guardLimits.haltFailures,
    halt_percent: named.haltPercent ?? guardLimits.haltPercent,
    soak_seconds: named.soakSeconds ?? guardLimits.soakSeconds,
    wave_success_percent: named.waveSuccessPercent ?? null,
  };
  checkLimits(limits, rings, errors);
  return limits;
}

export function checkLimits(limits: RolloutLimits, rings: number, errors: FieldErrors): void {
  const within = (name: (typeof limitNames)[number], value: number, min: number, max: number) => {
    if (!(value >= min && value <= max)) errors[name] = [`Must be ${min} to ${max}`];
  };
  within("percent", limits.percent, 0, 100);
  within("openRings", limits.open_rings, 0, rings);
  within("maxInFlight", limits.max_in_flight, 1, 1_000_000);
  within("haltAfterFailures", limits.halt_failures, 1, 1_000_000);
  within("haltPercent", limits.halt_percent, 0, 100);
  within("soakSeconds", limits.soak_seconds, 0, 86_400);
  if (limits.wave_success_percent !== null) {
    within("waveSuccessPercent", limits.wave_success_percent, 0.01, 100);
  }
}
