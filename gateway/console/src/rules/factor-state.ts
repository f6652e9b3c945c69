import { counted } from "./counted.ts";
import type { Tone } from "./tone.ts";

type Account = { status: string; mfaEnabled: boolean; managedBy: { name: string } | null };

/** Whether a user signs in without a second factor. A directory's people do so at their identity provider. */
export const lacksFactor = ({ status, mfaEnabled, managedBy }: Account): boolean =>
  status === "active" && !mfaEnabled && managedBy === null;

/** How many people sign in without one, or at least how many, in words; null where nobody does. */
export function factorGap(count: number, isAll: boolean): string | null {
  if (count === 0) return null;
  return `${isAll ? "" : "At least "}${counted(count, "people")} ${count === 1 ? "has" : "have"} no second factor.`;
}

type AccountState = { word: string; tone: Tone; note: string | null };

/**
 * How an account is, in a word, and what stands out in it: one without a second factor needs a look before others, and
 * a directory's one signs in elsewhere.
 */
export function accountState(user: Account): AccountState {
  if (lacksFactor(user)) return { word: "no second factor", tone: "warn", note: "Active, with a password alone" };
  const note = user.managedBy ? `Managed by ${user.managedBy.name}` : null;
  if (user.status === "active") return { word: "active", tone: "good", note };
  return { word: user.status, tone: user.status === "invited" ? "run" : "off", note };
}

/** How a user's second factor is, in a word: missing only for an account that signs in. */
export function factorState(user: Account): { word: string; tone: Tone } {
  if (user.mfaEnabled) return { word: "on", tone: "good" };
  return lacksFactor(user) ? { word: "missing", tone: "warn" } : { word: "not yet", tone: "off" };
}
