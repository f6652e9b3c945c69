import { counted } from "./counted.ts";
import type { Tone } from "./tone.ts";

type Account = { status: string; mfaEnabled: boolean };

/** Whether a user signs in without a second factor. */
export const lacksFactor = ({ status, mfaEnabled }: Account): boolean => status === "active" && !mfaEnabled;

/** Those who sign in without one, of an answer that may have more: in words; null where all have one. */
export function factorGap<A extends Account>(
  accounts: readonly A[],
  hasMore: boolean,
): { first: A; title: string } | null {
  const lacking = accounts.filter(lacksFactor);
  const [first] = lacking;
  if (!first) return null;
  const who = `${counted(lacking.length, "people")}${hasMore ? " or more" : ""}`;
  return { first, title: `${who} ${lacking.length === 1 && !hasMore ? "has" : "have"} no second factor.` };
}

/** How a user's second factor is, in a word: missing only for an account that signs in. */
export function factorState(user: Account): { word: string; tone: Tone } {
  if (user.mfaEnabled) return { word: "on", tone: "good" };
  return lacksFactor(user) ? { word: "missing", tone: "warn" } : { word: "not yet", tone: "off" };
}
