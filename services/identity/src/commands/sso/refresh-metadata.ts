import { AppError, type Caller, gauge, type RequestMeta, systemCaller } from "@muster/kit";
import { fetchMetadata } from "../../clients/sso/saml-metadata.ts";
import type { IdpMetadata } from "../../crypto/saml/metadata.ts";
import type { SsoDeps } from "../../deps.ts";
import { recordProvider } from "../../emits/sso-facts.ts";
import { asService } from "../../rules/as-service.ts";
import type { ProviderRow, StoredCertificate } from "../../rules/sso/provider.ts";
import { daysLeft, warningAt, withGracePeriod } from "../../rules/sso/saml/certificate-grace.ts";
import {
  expiringProviders,
  lockCertificates,
  noteMetadata,
  noteWarning,
  staleMetadata,
} from "../../store/sso/saml-maintenance.ts";
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
// Before the first round nothing is known to expire: 0 would alert at each start.
leastSeconds.set((31 * dayMs) / 1000);

type Deps = Pick<SsoDeps, "db" | "egress" | "checkUrl" | "log" | "now">;

/**
 * Reads providers' metadata URLs again, daily, after a failure hourly. Its certificates are added to the stored ones
 * (rules/sso/saml/certificate-grace.ts); administrators apply other changes.
 */
export async function refreshMetadata(deps: Deps): Promise<number> {
  const at = deps.now().getTime();
  const due = { before: new Date(at - dayMs), retryBefore: new Date(at - hourMs) };
  const stale = await staleMetadata(deps.db, due, { batch, perPartner });
  await Promise.all(stale.map((row) => refreshOne(deps, row)));
  return stale.length;
}

/** Milliseconds after a reading in which no assertion brings about another. */
const outOfTurnMs = 30_000;
/** Reads ahead of schedule in this process, by provider. */
const outOfTurn = new Map<string, Promise<void>>();

/**
 * Reads the metadata of a provider that signed with a key which is not known here, unless it was read in the last 30 s;
 * concurrent sign-ins wait for the same read.
 */
export function refreshOutOfTurn(deps: Deps, row: ProviderRow): Promise<void> {
  const { id, saml_metadata_url: url, saml_metadata_at: readAt } = row;
  const running = outOfTurn.get(id);
  if (running) return running;
  const isRecent = readAt !== null && deps.now().getTime() - readAt.getTime() < outOfTurnMs;
  if (url === null || isRecent) return Promise.resolve();
  const reading = refreshOne(deps, row).finally(() => outOfTurn.delete(id));
  outOfTurn.set(id, reading);
  return reading;
}

async function refreshOne(deps: Deps, row: ProviderRow): Promise<void> {
  const found = await metadataOf(deps, row);
  const who = asService();
  if (typeof found !== "string") await storeMetadata(deps, who, row, found);
  else await deps.db.tx(who, (tx) => noteMetadata(tx, row, { found: null, error: found }, deps.now()));
}

/**
 * Stores what the metadata names now, audits changed certificates and returns them; null when people changed the
 * provider meanwhile, and nothing is written. Login flows in flight go on with new certificates; the end of one ends
 * them.
 */
export function storeMetadata(
  { db, now }: Pick<Deps, "db" | "now">,
  who: { caller: Caller; meta: RequestMeta },
  row: ProviderRow,
  { certificates: found, omitted }: Pick<IdpMetadata, "certificates" | "omitted">,
): Promise<StoredCertificate[] | null> {
  return db.tx({ ...who, caller: systemCaller("identity") }, async (tx) => {
    const at = now();
    const stored = await lockCertificates(tx, row);
    if (stored === null) return null;
    const certificates = withGracePeriod(stored, found, at);
    const [before = [], after = []] = [stored, certificates].map(fingerprints);
    const isChanged = String(before) !== String(after);
    const hasEnded = !before.every((fingerprint) => after.includes(fingerprint));
    await noteMetadata(tx, row, { found: { certificates, omitted }, error: null, isChanged, hasEnded }, at);
    if (!isChanged) return certificates;
    const changes = { before: { samlCertificates: before }, after: { samlCertificates: after } };
    recordProvider(tx, who, row, "sso.provider.update", { changedFields: ["samlCertificates"], changes }, at);
    return certificates;
  });
}

/** What the metadata names now, or why it could not be read. */
async function metadataOf(deps: Deps, row: ProviderRow): Promise<IdpMetadata | string> {
  try {
    const bytes = await fetchMetadata(deps.egress, row.saml_metadata_url ?? "");
    const found = await metadataIn(deps, bytes, row.saml_entity_id);
    return found.entityId === row.saml_entity_id ? found : "the metadata is of another entity";
  } catch (error) {
    const isAppError = error instanceof AppError;
    deps.log[isAppError ? "warn" : "error"](
      { providerId: row.id, err: error },
      "metadata of a SAML provider cannot be read",
    );
    return isAppError ? error.message.slice(0, 1_000) : "The metadata cannot be read";
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
