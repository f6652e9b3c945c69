/** Whom the sender of an own audit event names as its actor; null when it names nobody. */
export function claimedActorIn(details: Readonly<Record<string, unknown>>): string | null {
  const claimed = details.claimedActor;
  if (typeof claimed !== "object" || claimed === null) return null;
  const { name, email, id } = claimed as Readonly<Record<string, unknown>>;
  const texts = [name, email, id].filter((text) => typeof text === "string");
  return texts.length === 0 ? null : `${texts.join(", ")} (claimed by the actor, not verified)`;
}
