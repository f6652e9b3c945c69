import { AppError, gauge, type RequestMeta, systemCaller, uuidv7 } from "@muster/kit";
import { fetchMetadata } from "../../clients/sso/saml-metadata.ts";
import type { IdpMetadata } from "../../crypto/saml/metadata.ts";
import type { SsoDeps } from "../../deps.ts";
import { recordProvider } from "../../emits/sso-facts.ts";
import type { ProviderRow, StoredCertificate } from "../../rules/sso/provider.ts";
import { daysLeft, overlapped, warningAt } from "../../rules/sso/saml/certificate-overlap.ts";
import { expiringProviders, noteMetadata, noteWarning, staleMetadata } from "../../store/sso/saml-upkeep.ts";
import { metadataIn } from "./prepare-saml.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Providers whose metadata is read concurrently in one round, and how many of them may be of one partner. */
const batch = 20;
const perPartner = 4;

const leastSeconds = gauge(
  "muster_identity_sso_certificate_expiry_seconds",
  "Seconds until the first active SAML provider has no valid certificate left, in whole days; 31 days at most.",
);

type Deps = Pick<SsoDeps, "db" | "egress" | "judge" | "log" | "now">;

const asService = () => {
  const meta: RequestMeta = { requestId: uuidv7(), clientAddress: null, userAgent: null, traceparent: null };
  return { caller: systemCaller("identity"), meta };
};

/**
 * Reads providers' metadata URLs again, daily, after a failure hourly. Its certificates are added to the stored ones
 * (rules/sso/saml/certificate-overlap.ts); administrators apply other changes.
 */
export async function refreshMetadata(deps: Deps): Promise<number> {
  const at = deps.now().getTime();
  const due = { before: new Date(at - dayMs), retryBefore: new Date(at - hourMs) };
  const stale = await staleMetadata(deps.db, due, { batch, perPartner });
  await Promise.all(stale.map((row) => refreshOne(deps, row)));
  return stale.length;
}

/** Milliseconds after a reading in which no assertion brings about another. */
const outOfTurnMs = 5 * 60_000;
/** Providers whose metadata this process is reading out of turn. */
const outOfTurn = new Set<string>();

/**
 * Reads the metadata of a provider that signed with a key which is not known here, unless it was read in the last five
 * minutes: a change of key costs people a second try, not a day.
 */
export async function refreshOutOfTurn(deps: Deps, row: ProviderRow): Promise<void> {
  const { id, saml_metadata_url: url, saml_metadata_at: readAt } = row;
  const isRecent = readAt !== null && deps.now().getTime() - readAt.getTime() < outOfTurnMs;
  if (url === null || isRecent || outOfTurn.has(id)) return;
  outOfTurn.add(id);
  await refreshOne(deps, row).finally(() => outOfTurn.delete(id));
}

async function refreshOne(deps: Deps, row: ProviderRow): Promise<void> {
  const found = await metadataOf(deps, row);
  const who = asService();
  await deps.db.tx(who, async (tx) => {
    const now = deps.now();
    if (typeof found === "string") {
      await noteMetadata(tx, row, { found: null, error: found }, now);
      return;
    }
    const certificates = overlapped(row.saml_certificates, found.certificates, now);
    const [before, after] = [row.saml_certificates, certificates].map(fingerprints);
    const isChanged = String(before) !== String(after);
    const outcome = { found: { certificates, omitted: found.omitted }, error: null, isChanged };
    const isNoted = await noteMetadata(tx, row, outcome, now);
    if (!isNoted || !isChanged) return;
    const changes = { before: { samlCertificates: before }, after: { samlCertificates: after } };
    recordProvider(tx, who, row, "sso.provider.update", { changedFields: ["samlCertificates"], changes }, now);
  });
}

/** What the metadata names now, or why it could not be read. */
async function metadataOf(deps: Deps, row: ProviderRow): Promise<IdpMetadata | string> {
  try {
    const bytes = await fetchMetadata(deps.egress, row.saml_metadata_url ?? "");
    const found = await metadataIn(deps, bytes, row.saml_entity_id);
    return found.entityId === row.saml_entity_id ? found : "the metadata is of another entity";
  } catch (error) {
    const known = error instanceof AppError;
    deps.log[known ? "warn" : "error"](
      { providerId: row.id, err: error },
      "metadata of a SAML provider cannot be read",
    );
    return known ? error.message.slice(0, 1_000) : "The metadata cannot be read";
  }
}

const fingerprints = (certificates: readonly StoredCertificate[]) =>
  certificates.map(({ fingerprint }) => fingerprint).sort();

/**
 * Warns 30, 7, 1 and 0 days before the last certificate of an active provider ends: an audit row, a line in the log, a
 * metric.
 */
export async function warnOfExpiry({ db, log, now }: Deps): Promise<void> {
  const at = now();
  const expiring = await expiringProviders(db, new Date(at.getTime() + 31 * dayMs));
  const leastDays = Math.min(31, ...expiring.map(({ saml_certificates }) => daysLeft(saml_certificates, at)));
  leastSeconds.set((leastDays * dayMs) / 1000);
  for (const row of expiring) {
    const days = daysLeft(row.saml_certificates, at);
    const due = warningAt(days);
    if (due === null) continue;
    const who = asService();
    const isNew = await db.tx(who, async (tx) => {
      if (!(await noteWarning(tx, row.id, due))) return false;
      recordProvider(tx, who, row, "sso.provider.certificates.expiring", { days }, at);
      return true;
    });
    if (isNew) log.warn({ providerId: row.id, days }, "certificates of a SAML provider end soon");
  }
}
