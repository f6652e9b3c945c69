type User = {
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
export function mayUsePassword<P extends User>(user: P | null): user is P {
  return user?.status === "active" && !hasLeft(user) && !user.sso_enforced;
}

/** Whether the user's partner or organization has ended. */
export function hasLeft({ partner_status: partner, org_status: org }: Omit<User, "status" | "sso_enforced">): boolean {
  return [partner, org].some((status) => status !== null && ended.includes(status));
}
