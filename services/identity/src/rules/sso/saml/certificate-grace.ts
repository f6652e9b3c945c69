import type { StoredCertificate } from "../provider.ts";

const dayMs = 86_400_000;
/** Days for which a certificate that the metadata has stopped naming still counts. */
const graceDays = 7;
/** Days before the last certificate's end at which administrators are warned. */
const warnings = [30, 7, 1, 0] as const;

/**
 * The certificates after metadata was read again: new ones are added, those that it no longer names stay seven days, so
 * that sign-ins succeed in whichever order a provider changes its key and its metadata. Those set by hand stay.
 */
export function withGracePeriod(
  kept: readonly StoredCertificate[],
  found: readonly StoredCertificate[],
  now: Date,
): StoredCertificate[] {
  const named = new Set(found.map(({ fingerprint }) => fingerprint));
  const old = kept
    .filter(({ source, fingerprint }) => source === "manual" || !named.has(fingerprint))
    .map((each) => (each.source === "manual" ? each : { ...each, goneAt: each.goneAt ?? now.toISOString() }))
    .filter(({ goneAt }) => goneAt === undefined || now.getTime() - Date.parse(goneAt) < graceDays * dayMs);
  const byHand = new Set(old.map(({ fingerprint }) => fingerprint));
  return [...old, ...found.filter(({ fingerprint }) => !byHand.has(fingerprint))];
}

/** Of the metadata's certificates those that are not stored, and of the stored ones those that it does not name. */
export function compared(
  kept: readonly StoredCertificate[],
  found: readonly StoredCertificate[],
): { added: StoredCertificate[]; missing: StoredCertificate[] } {
  const without = (some: readonly StoredCertificate[], others: readonly StoredCertificate[]) => {
    const prints = new Set(others.map(({ fingerprint }) => fingerprint));
    return some.filter(({ fingerprint }) => !prints.has(fingerprint));
  };
  return { added: without(found, kept), missing: without(kept, found).filter(({ source }) => source === "metadata") };
}

/** Whole days until the last certificate ends; negative when it has. */
export const daysLeft = (certificates: readonly StoredCertificate[], now: Date): number =>
  Math.floor((Math.max(0, ...certificates.map(({ notAfter }) => Date.parse(notAfter))) - now.getTime()) / dayMs);

/** The warning for this number of days before the end, the nearest; null while none is due. */
export const warningAt = (days: number): number | null => warnings.findLast((at) => days <= at) ?? null;
