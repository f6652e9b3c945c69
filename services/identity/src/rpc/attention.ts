import type { Database } from "@muster/db";
import type { CallContext } from "@muster/kit";
import { type AttentionRow, type AttentionSource, requirePermission, requireUser } from "@muster/service";
import { directoryHealth } from "../rules/directory/directory-health.ts";
import { lastCertificateEnd, providerHealth } from "../rules/sso/provider-health.ts";
import { doubtfulProviders, endingApiKeys, endingCertificates, failingDirectories } from "../store/attention.ts";
import { failedSignIns } from "../store/sso/attempts.ts";
import { requireReader } from "./guards.ts";

type Deps = { db: Database; now: () => Date };
type Owned = { id: string; name: string; org_id: string | null; partner_id: string };

/** Time to rotate a key before its programs stop, and to have a certificate renewed elsewhere. */
const [keyDays, certificateDays] = [14, 30];
const dayMs = 86_400_000;
/** Providers that are validated for one answer. */
const doubtfulMax = 1_000;

const ownedBy = (type: string, { id, name, org_id: orgId, partner_id: partnerId }: Owned) => ({
  ...{ record: { type, id, name }, orgId, partnerId },
});

/** What fails or ends soon among providers, directories and API keys, each kind for those who may read its list. */
export function identityAttention(deps: Deps): AttentionSource[] {
  return [failingProviders(deps), directories(deps), certificates(deps), apiKeys(deps)];
}

function failingProviders({ db, now }: Deps): AttentionSource {
  return {
    kind: "sso_provider",
    guard: requireReader,
    async find(context, orgId, most) {
      const at = now();
      const rows = await doubtfulProviders(db, context, orgId, doubtfulMax, at);
      const failed = await db.tx(context, (tx) => failedSignIns(tx, rows), { readOnly: true });
      const failing = rows.map((row): AttentionRow | null => {
        const signIns = failed.get(row.id) ?? null;
        const { status, reason } = providerHealth(row, signIns, at);
        if (status === "healthy" || status === "slow") return null;
        const ended = lastCertificateEnd(row);
        const since =
          ended !== null && ended <= at ? ended : (signIns?.since ?? row.saml_metadata_at ?? row.updated_at);
        return { ...ownedBy("sso_provider", row), since, sentence: reason };
      });
      return failing.filter((row) => row !== null).slice(0, most);
    },
  };
}

function directories({ db }: Deps): AttentionSource {
  return {
    kind: "directory",
    guard(context: CallContext) {
      requireUser(context);
      requirePermission(context, "directory:read");
    },
    async find(context, orgId, most) {
      const rows = await failingDirectories(db, context, orgId, most);
      return rows.map((row) => ({
        ...ownedBy("directory", row),
        since: row.last_cycle === null ? row.updated_at : new Date(row.last_cycle.startedAt),
        sentence: directoryHealth(row).reason,
      }));
    },
  };
}

function certificates({ db, now }: Deps): AttentionSource {
  return {
    kind: "certificate",
    guard: requireReader,
    async find(context, orgId, most) {
      const from = now();
      const to = new Date(from.getTime() + certificateDays * dayMs);
      const rows = await endingCertificates(db, context, orgId, most, { from, to });
      return rows.map((row) => {
        const end = lastCertificateEnd(row) ?? to;
        const sentence = `Its last certificate ends at ${end.toISOString()}: then nobody signs in through it.`;
        return { ...ownedBy("sso_provider", row), since: new Date(end.getTime() - certificateDays * dayMs), sentence };
      });
    },
  };
}

function apiKeys({ db, now }: Deps): AttentionSource {
  return {
    kind: "api_key",
    guard: requireReader,
    async find(context, orgId, most) {
      const from = now();
      const rows = await endingApiKeys(db, context, orgId, most, {
        from,
        to: new Date(from.getTime() + keyDays * dayMs),
      });
      return rows.map((row) => {
        const soonMs = row.expires_at.getTime() - keyDays * dayMs;
        const sentence = `It ends at ${row.expires_at.toISOString()}: rotate it before the programs that use it stop.`;
        return {
          ...ownedBy("api_key", row),
          since: new Date(Math.max(soonMs, row.created_at.getTime())),
          sentence,
        };
      });
    },
  };
}
