/** Whether a provider refuses the passwords of its owner's users, and why it does not. */
export type Enforcement =
  | { inForce: true; reason: null }
  | { inForce: false; reason: "not_wanted" | "not_active" | "not_proven" };

/**
 * Prevents a lock-out: a provider's enforcement takes effect once it is active and an administrator of the owner has
 * signed in through its current version.
 */
export function enforcementOf(provider: { enforceSso: boolean; status: string; provenAt: Date | null }): Enforcement {
  if (!provider.enforceSso) return { inForce: false, reason: "not_wanted" };
  if (provider.status !== "active") return { inForce: false, reason: "not_active" };
  return provider.provenAt === null ? { inForce: false, reason: "not_proven" } : { inForce: true, reason: null };
}
