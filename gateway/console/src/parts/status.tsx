import { stateWord } from "../rules/state-word.ts";
import type { Tone } from "../rules/tone.ts";
import styles from "./status.module.css";

const statesOf: Readonly<Record<Exclude<Tone, "off">, readonly string[]>> = {
  good: ["online", "active", "delivered", "success", "closed", "ok", "done", "completed", "succeeded", "healthy"],
  warn: [
    "quarantined",
    "pending",
    "retrying",
    "paused",
    "invited",
    "trial",
    "recovering",
    "queued",
    "slow",
    "waits",
    "expired",
    "used up",
  ],
  bad: [
    "degraded",
    "unavailable",
    "halted",
    "failed",
    "failing",
    "unreachable",
    "failure",
    "denied",
    "suspended",
    "open",
  ],
  run: ["updating", "running", "starting", "offered", "returned", "promoted"],
};

const tones: Readonly<Record<string, Tone | undefined>> = Object.fromEntries(
  Object.entries(statesOf).flatMap(([tone, states]) => states.map((state) => [state, tone as Tone])),
);

/** The tone of a state of the API; the quiet one for those that need nothing. */
export const toneOf = (state: string): Tone => tones[state] ?? "off";

/** A state as a word; the colour only repeats it. `as` is another word than the usual one of the state. */
export const Status = ({ of, as, tone }: { of: string; as?: string; tone?: Tone }) => (
  <span className={styles.status} data-tone={tone ?? toneOf(of)}>
    {as ?? stateWord(of)}
  </span>
);
