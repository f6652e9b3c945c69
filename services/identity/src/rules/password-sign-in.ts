type Person = {
  status: string;
  partner_status: string | null;
  org_status: string | null;
  sso_enforced: boolean;
};

/**
 * Tenants whose users cannot sign in any more. Users of a suspended or pending tenant may sign in to read the reason
 * (403).
 */
const ended = ["churned", "deleted"];

/**
 * Whether a password opens, and may be reset for, this account at all. The one place that decides it: an account of a
 * tenant that has ended, and one governed by a provider that enforces single sign-on, is refused here, so that it looks
 * like every other refusal.
 */
export function mayUsePassword<P extends Person>(person: P | null): person is P {
  return person?.status === "active" && !hasLeft(person) && !person.sso_enforced;
}

/** Whether the person's partner or organization has ended. */
export function hasLeft({
  partner_status: partner,
  org_status: org,
}: Omit<Person, "status" | "sso_enforced">): boolean {
  return [partner, org].some((status) => status !== null && ended.includes(status));
}
