import type { Tone } from "./tone.ts";

type Account = { status: string; mfaEnabled: boolean };

/** Whether a user signs in without a second factor. */
export const lacksFactor = ({ status, mfaEnabled }: Account): boolean => status === "active" && !mfaEnabled;

/** How a user's second factor is, in a word: missing only for an account that signs in. */
export function factorState(user: Account): { word: string; tone: Tone } {
  if (user.mfaEnabled) return { word: "on", tone: "good" };
  return lacksFactor(user) ? { word: "missing", tone: "warn" } : { word: "not yet", tone: "off" };
}
