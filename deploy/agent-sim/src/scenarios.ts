/** Outcomes of an update on a simulated device, by the names that `--update` takes. */
export const scenarios = {
  ok: "installs it, restarts, and reports at once",
  quiet: "the same, without ever reporting how the update goes",
  silent: "restarts and never sends another heartbeat",
  "old-version": "restarts with 0.0.1",
  "rolls-back": "the new binary does not start; the agent restores the previous one",
  watchdog: "the new binary hangs; the watchdog restores the previous one after a while",
  "crash-loop": "runs the new version for one heartbeat, then the previous one again",
  locked: "finds its file locked twice, then installs",
  "always-locked": "finds its file locked each time",
  "bad-download": "gets other bytes than were published",
  "wrong-clock": "has a clock that is ten years ahead",
  off: "does not understand updates at all",
} as const;

export type Scenario = keyof typeof scenarios;

export const scenarioNames = Object.keys(scenarios) as Scenario[];

/** The scenario of an agent: `percent` of a hundred agents act it out, the others update successfully. */
export function scenarioOf(
  n: number,
  { update, updatePercent }: { update: Scenario; updatePercent: number },
): Scenario {
  return n % 100 < updatePercent ? update : "ok";
}
