import { counted } from "./counted.ts";
import type { Tone } from "./tone.ts";

type Account = { status: string; mfaEnabled: boolean };

/** Whether a user signs in without a second factor. */
export const lacksFactor = ({ status, mfaEnabled }: Account): boolean => status === "active" && !mfaEnabled;

/** How many people sign in without one, in words; null where nobody does. */
export const factorGap = (count: number): string | null =>
  count === 0 ? null : `${counted(count, "people")} ${count === 1 ? "has" : "have"} no second factor.`;

/** How a user's second factor is, in a word: missing only for an account that signs in. */
export function factorState(user: Account): { word: string; tone: Tone } {
  if (user.mfaEnabled) return { word: "on", tone: "good" };
  return lacksFactor(user) ? { word: "missing", tone: "warn" } : { word: "not yet", tone: "off" };
}
