/**
 * Whether a password opens, and may be reset for, this account at all. The one place that decides it: an account governed by
 * a provider that enforces single sign-on is refused here, so that it looks like every other refusal.
 */
export function mayUsePassword<P extends { status: string }>(person: P | null): person is P {
  return person?.status === "active";
}
