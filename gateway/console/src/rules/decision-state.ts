import type { components } from "@muster/client";

type Decision = components["schemas"]["UpdateDecision"]["components"][number];
type Shown = { of: string; as: string; tone: "good" | "run" | "off" | "warn" | "bad" };

const waits: Shown = { of: "waits", as: "waits", tone: "warn" };
const held: Shown = { of: "held", as: "held", tone: "off" };
const blocked: Shown = { of: "blocked", as: "blocked", tone: "bad" };

/** What keeps a program from its target, in a word, by the rule that decided it. */
const states: Readonly<Record<Decision["rule"], Shown>> = {
  not_eligible: held,
  not_reported: { of: "unknown", as: "not reported", tone: "off" },
  auto_update_off: held,
  policy_manual: held,
  window_closed: waits,
  no_target: { of: "none", as: "no target", tone: "off" },
  current_unparsable: { of: "unknown", as: "unknown version", tone: "warn" },
  up_to_date: { of: "current", as: "up to date", tone: "good" },
  ahead_of_target: { of: "ahead", as: "ahead of target", tone: "off" },
  release_untrusted: blocked,
  no_artifact: blocked,
  below_minimum: blocked,
  halted: { of: "halted", as: "halted", tone: "warn" },
  not_in_ring: waits,
  not_in_bucket: waits,
  back_off: { of: "failed", as: "tried again later", tone: "bad" },
  in_progress: { of: "updating", as: "updating", tone: "run" },
  in_flight_cap: waits,
  offered: { of: "offered", as: "offered", tone: "run" },
};

/** How a program stands to its target, in a word; the sentence beside it says why. */
export function decisionState({ current, target, rule }: Pick<Decision, "current" | "target" | "rule">): Shown {
  return current !== null && current === target ? states.up_to_date : states[rule];
}

/** What the API says of it beyond its state; empty for one that is up to date, whose version stands beside it. */
export const decisionDetail = ({ rule, detail }: Pick<Decision, "rule" | "detail">): string =>
  rule === "up_to_date" ? "" : detail;

/** Rules of rollouts, which say more. */
const rolloutRules: readonly Decision["rule"][] = ["halted", "not_in_ring", "not_in_bucket", "in_flight_cap"];

/** Whether it depends on a rollout when the program updates. */
export const dependsOnRollout = ({ rule }: Pick<Decision, "rule">): boolean => rolloutRules.includes(rule);
