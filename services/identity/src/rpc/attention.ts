import type { CallContext } from "@muster/kit";
import { type AttentionRow, type AttentionSource, requirePermission, requireUser } from "@muster/service";
import { directoryHealth } from "../rules/directory/directory-health.ts";
import { lastCertificateEnd, providerHealth } from "../rules/sso/provider-health.ts";
import { endingApiKeys, failingDirectories, type WatchedProvider, watchedProviders } from "../store/attention.ts";
import { requireReader } from "./guards.ts";

type Deps = { now: () => Date };
type Owned = { id: string; name: string; org_id: string | null; partner_id: string };

/** Time to rotate a key before its programs stop, and to have a certificate renewed elsewhere. */
const [keyDays, certificateDays] = [14, 30];
const dayMs = 86_400_000;
/** Providers that are validated for one answer. */
const watchedMax = 2_000;

const ownedBy = (type: string, { id, name, org_id: orgId, partner_id: partnerId }: Owned) => ({
  ...{ record: { type, id, name }, orgId, partnerId },
});

/** What fails or ends soon among providers, directories and API keys, each kind for those who may read its list. */
export function identityAttention(deps: Deps): AttentionSource[] {
  // Providers last: their statement changes how the planner reads for those after it.
  return [directories, apiKeys(deps), providers(deps)];
}

function providers({ now }: Deps): AttentionSource {
  return {
    guard: requireReader,
    async find(tx, context, orgId) {
      const at = now();
      const soon = new Date(at.getTime() + certificateDays * dayMs);
      const rows = await watchedProviders(tx, context, orgId, watchedMax, soon);
      return rows.flatMap((row) => [failing(row, at), ending(row, at, soon)].filter((each) => each !== null));
    },
  };
}

function failing(row: WatchedProvider, at: Date): AttentionRow | null {
  const { status, reason } = providerHealth(row, row.failed, at);
  if (status === "healthy" || status === "slow") return null;
  const ended = lastCertificateEnd(row);
  const since = ended !== null && ended <= at ? ended : (row.failed?.since ?? row.saml_metadata_at ?? row.updated_at);
  return { kind: "sso_provider", ...ownedBy("sso_provider", row), since, sentence: reason };
}

function ending(row: WatchedProvider, at: Date, soon: Date): AttentionRow | null {
  const end = lastCertificateEnd(row);
  if (end === null || end <= at || end >= soon) return null;
  const sentence = `Its last certificate ends at ${end.toISOString()}: then nobody signs in through it.`;
  const since = new Date(end.getTime() - certificateDays * dayMs);
  return { kind: "certificate", ...ownedBy("sso_provider", row), since, sentence };
}

const directories: AttentionSource = {
  guard(context: CallContext) {
    requireUser(context);
    requirePermission(context, "directory:read");
  },
  async find(tx, context, orgId, most) {
    const rows = await failingDirectories(tx, context, orgId, most);
    return rows.map((row) => ({
      kind: "directory",
      ...ownedBy("directory", row),
      since: row.last_cycle === null ? row.updated_at : new Date(row.last_cycle.startedAt),
      sentence: directoryHealth(row).reason,
    }));
  },
};

function apiKeys({ now }: Deps): AttentionSource {
  return {
    guard: requireReader,
    async find(tx, context, orgId, most) {
      const from = now();
      const rows = await endingApiKeys(tx, context, orgId, most, {
        from,
        to: new Date(from.getTime() + keyDays * dayMs),
      });
      return rows.map((row) => {
        const soonMs = row.expires_at.getTime() - keyDays * dayMs;
        const sentence = `It ends at ${row.expires_at.toISOString()}: rotate it before the programs that use it stop.`;
        return {
          kind: "api_key",
          ...ownedBy("api_key", row),
          since: new Date(Math.max(soonMs, row.created_at.getTime())),
          sentence,
        };
      });
    },
  };
}
