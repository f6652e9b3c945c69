/** Whether an ID token's `amr` (RFC 8176) states that more than one factor was part of the sign-in. */
export function saysMfa(amr: unknown): boolean {
  return Array.isArray(amr) && amr.includes("mfa");
}
