import type { Health } from "@muster/kit";
import type { ProviderRow } from "./provider.ts";
import type { FailureReason } from "./reasons.ts";

/** Reasons of failed sign-ins that the provider or its configuration causes, not the user. */
export const providerErrors = [
  "idp_error",
  "token_invalid",
  "assertion_invalid",
  "internal",
] as const satisfies readonly FailureReason[];

/** Sign-ins that ended by such an error since the last success. */
export type FailedSignIns = { count: number; since: Date; reason: string };

/** Failed sign-ins in a row from which a provider is failing, and from which it is unreachable. */
const [failingCount, unreachableCount] = [3, 10];

type Facts = Pick<ProviderRow, "type" | "status" | "saml_certificates" | "saml_metadata_error">;

/** The health of a provider, by the first rule that holds (docs/behaviour.md#attention). */
export function providerHealth(row: Facts, failed: FailedSignIns | null, now: Date): Health {
  if (row.status !== "active") return { status: "healthy", reason: `Nobody signs in through it: it is ${row.status}.` };
  const ended = lastCertificateEnd(row);
  if (ended !== null && ended <= now) {
    return {
      status: "unreachable",
      reason: `Its last certificate ended at ${ended.toISOString()}: no response is accepted.`,
    };
  }
  if (failed !== null && failed.count >= failingCount) {
    const reason = `${failed.count} sign-ins in a row failed since ${failed.since.toISOString()}, the last: ${failed.reason}.`;
    return { status: failed.count >= unreachableCount ? "unreachable" : "failing", reason };
  }
  if (row.saml_metadata_error !== null) {
    return { status: "failing", reason: `Its metadata could not be read: ${row.saml_metadata_error}` };
  }
  return { status: "healthy", reason: failed === null ? "No recent sign-in failed." : "Few sign-ins failed." };
}

/** When no certificate of a SAML provider counts any more; null without certificates. */
export function lastCertificateEnd({
  type,
  saml_certificates: all,
}: Pick<Facts, "type" | "saml_certificates">): Date | null {
  if (type !== "saml" || all.length === 0) return null;
  return new Date(Math.max(...all.map(({ notAfter }) => Date.parse(notAfter))));
}
