const dayMs = 86_400_000;

/**
 * How urgent an end is: null while it is further away than the days in which it is to be replaced, "warn" within them,
 * "bad" once it has passed.
 */
export function endingTone(at: string, now: Date, days: number): "warn" | "bad" | null {
  const leftMs = new Date(at).getTime() - now.getTime();
  if (leftMs <= 0) return "bad";
  return leftMs <= days * dayMs ? "warn" : null;
}

/** Days before its end in which a key or a certificate needs attention (docs/behaviour.md#attention). */
export const keyDays = 14;
export const certificateDays = 30;

type Provider = { type: string; samlCertificates: readonly { notAfter: string }[] };

/** When no certificate of a SAML provider counts any more; null for others. */
export function lastCertificateEnd({ type, samlCertificates }: Provider): string | null {
  if (type !== "saml") return null;
  // Instants of the API are as long as each other: the last in the alphabet is the latest.
  return (
    samlCertificates
      .map(({ notAfter }) => notAfter)
      .sort()
      .at(-1) ?? null
  );
}
