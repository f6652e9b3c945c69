import { counted } from "./counted.ts";
import type { Tone } from "./tone.ts";

type Account = { status: string; mfaEnabled: boolean; managedBy: { name: string } | null };

/** Whether a user signs in without a second factor. A directory's people do so at their identity provider. */
export const lacksFactor = ({ status, mfaEnabled, managedBy }: Account): boolean =>
  status === "active" && !mfaEnabled && managedBy === null;

/** How many people sign in without one, in words; null where nobody does. */
export const factorGap = (count: number): string | null =>
  count === 0 ? null : `${counted(count, "people")} ${count === 1 ? "has" : "have"} no second factor.`;

type AccountState = { word: string; tone: Tone; note: string };

/** How an account is, in a word, and what that leaves open: one without a second factor needs a look before others. */
export function accountState(user: Account): AccountState {
  if (lacksFactor(user)) return { word: "no second factor", tone: "warn", note: "Active, with a password alone" };
  if (user.status === "active" && user.managedBy && !user.mfaEnabled)
    return { word: "active", tone: "good", note: `No second factor here, managed by ${user.managedBy.name}` };
  const factor = user.mfaEnabled ? "Second factor on" : "No second factor yet";
  if (user.status === "active") return { word: "active", tone: "good", note: factor };
  return { word: user.status, tone: user.status === "invited" ? "run" : "off", note: factor };
}

/** How a user's second factor is, in a word: missing only for an account that signs in. */
export function factorState(user: Account): { word: string; tone: Tone } {
  if (user.mfaEnabled) return { word: "on", tone: "good" };
  return lacksFactor(user) ? { word: "missing", tone: "warn" } : { word: "not yet", tone: "off" };
}
