/**
 * A user's enrolled factors: whether TOTP is confirmed, the number of passkeys, the number of unused recovery codes.
 */
export type Factors = { totp: boolean; passkeys: number; recoveryCodes: number };

export type FactorMethod = "totp" | "passkey" | "recovery_code";

/** How a sign-in of this user can be completed (`methods` of the login). */
export function factorMethods({ totp, passkeys, recoveryCodes }: Factors): FactorMethod[] {
  const methods: FactorMethod[] = [];
  if (totp) methods.push("totp");
  if (passkeys > 0) methods.push("passkey");
  if (recoveryCodes > 0) methods.push("recovery_code");
  return methods;
}

export const hasFactor = ({ totp, passkeys }: Factors): boolean => totp || passkeys > 0;

/** What a proven factor completes: a step-up of a session, or a sign-in. */
export type ProofOf = { sessionId: string } | { mfaChallengeId: string };
