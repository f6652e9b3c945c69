import { Link } from "@tanstack/react-router";
import {
  Building2,
  KeyRound,
  Laptop,
  LogIn,
  type LucideIcon,
  PackageCheck,
  ScrollText,
  Users,
  Webhook,
} from "lucide-react";
import { useGet } from "../../api/queries.ts";
import { EventList } from "../../parts/event-list.tsx";
import { Section } from "../../parts/facts.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { FailureState, Loading } from "../../parts/states.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { actionWords, actorOf, isByUser } from "../../rules/action-words.ts";
import { machineActions } from "../../rules/machine-actions.ts";

const icons: readonly (readonly [RegExp, LucideIcon])[] = [
  [/^(device|agent\b|site)/, Laptop],
  [/^(agent_update|agent_version|release)/, PackageCheck],
  [/^(api_key|service_principal|enrollment)/, KeyRound],
  [/^(sso|mfa)|\.log(in|out)/, LogIn],
  [/^(user|role)/, Users],
  [/^webhook/, Webhook],
  [/^(organization|partner)/, Building2],
];

const iconOf = (action: string) => icons.find(([pattern]) => pattern.test(action))?.[1] ?? ScrollText;

const most = 8;

/** What people changed last; agents' own entries and sign-ins are left out. */
export function ChangesByUsers({ orgId }: { orgId: string | undefined }) {
  const query = {
    limit: "50",
    skipCount: "true",
    excludeActions: machineActions.join(","),
    ...(orgId ? { orgId } : {}),
  };
  const { data, error, isPending, refetch } = useGet(
    "/api/v1/audit-logs/logs",
    { params: { query } },
    { everyMs: 60_000 },
  );
  const [{ orgId: chosen }] = useFilters();
  const rows = (data?.data ?? []).filter(isByUser);
  const folded = (data?.data.length ?? 0) - rows.length;
  return (
    <Section title="Changes by people" action={<Link {...to("/audit", { orgId: chosen })}>Audit</Link>}>
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      {isPending ? <Loading what="Loading changes" /> : null}
      {data && rows.length === 0 ? <p className="soft">Nobody changed anything lately.</p> : null}
      <EventList
        of={rows.slice(0, most).map((row) => {
          const { did, kind, name } = actionWords(row);
          return {
            key: row.id,
            at: row.timestamp,
            icon: iconOf(row.action),
            text: (
              <Link {...toRecord("/audit/$id", { id: row.id }, { orgId: chosen })}>
                <b>{actorOf(row)}</b> {did} {kind} {name ? <b>{name}</b> : null}
              </Link>
            ),
          };
        })}
      />
      {folded > 0 ? <p className="soft">{folded} newer entries by machines are folded.</p> : null}
    </Section>
  );
}
