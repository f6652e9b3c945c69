import { Link } from "@tanstack/react-router";
import { Laptop } from "lucide-react";
import { useGet } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { Fleet } from "../../parts/fleet.tsx";
import { to } from "../../parts/links.ts";
import { useMe } from "../../parts/me.tsx";
import { NewerRelease } from "../../parts/newer-release.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { EmptyState, FailureState, Loading } from "../../parts/states.tsx";
import { useNow } from "../../parts/time.tsx";
import { useAttention } from "../../parts/use-attention.ts";
import { useFilters } from "../../parts/use-filters.ts";
import { greeting, needsSentence } from "../../rules/greeting.ts";
import { whyNot } from "../../rules/why-not.ts";
import { LastVerified } from "../audit/last-verified.tsx";
import { AgentVersions } from "./agent-versions.tsx";
import { ChangesByUsers } from "./changes-by-users.tsx";
import { Needs } from "./needs.tsx";
import styles from "./overview.module.css";
import { RunningRollouts } from "./running-rollouts.tsx";
import { SignIns } from "./sign-ins.tsx";
import { WebhookHealth } from "./webhook-health.tsx";

/** The overview: what needs attention, then how everything is, then what people changed. */
export function Overview() {
  const me = useMe();
  const [{ orgId }] = useFilters();
  const chosenOrgId = me.orgId ?? orgId;
  const may = (operation: string) => whyNot(me, operation) === null;
  const { needs, isLoading, failure, summary, unknownKinds, cutKinds } = useAttention(orgId);
  const now = useNow(60_000);
  return (
    <>
      <PageTitle
        title="Overview"
        heading={greeting(me.name, now.getHours())}
        sub={isLoading ? "Looking for what needs attention …" : failure ? null : needsSentence(needs.length)}
      />
      {may("GET /api/v1/platform/status") ? <NewerRelease /> : null}
      {failure ? <FailureState failure={failure} /> : null}
      {isLoading ? <Loading what="Loading what needs attention" /> : null}
      {!isLoading && !failure && may("GET /api/v1/attention") ? (
        <Needs
          of={needs}
          unknownKinds={unknownKinds}
          cutKinds={cutKinds}
          isEverywhere={me.scope !== "organization" && !orgId}
        />
      ) : null}
      {may("GET /api/v1/devices") ? <FirstDevice orgId={orgId} /> : null}
      <div className={styles.grid}>
        {may("GET /api/v1/devices/summary") ? (
          <Fleet orgId={orgId} summary={summary} hasHistory={me.siteIds === null} />
        ) : null}
        <div className={styles.stack}>
          {may("GET /api/v1/agent-versions") && may("GET /api/v1/devices") ? <AgentVersions orgId={orgId} /> : null}
          {may("GET /api/v1/audit-logs/reports/sign-ins") ? <SignIns orgId={chosenOrgId} /> : null}
        </div>
      </div>
      <div className={styles.grid}>
        <div className={styles.stack}>
          {may("GET /api/v1/agent-versions/rollouts") ? <RunningRollouts /> : null}
          {may("GET /api/v1/webhooks") ? <WebhookHealth orgId={chosenOrgId} /> : null}
        </div>
        {may("GET /api/v1/audit-logs/logs") ? <ChangesByUsers orgId={orgId} /> : null}
      </div>
      {chosenOrgId && may("GET /api/v1/audit-logs/verify") ? (
        <Section
          title="Seal of the audit trail"
          action={<Link {...to("/audit", { orgId })}>Verify it from one of its rows on</Link>}
        >
          <LastVerified orgId={chosenOrgId} />
        </Section>
      ) : null}
    </>
  );
}

/** Counts cost more than rows: a minute old is new enough. */
const everyMs = 60_000;

function FirstDevice({ orgId }: { orgId: string | undefined }) {
  const query = { limit: "1", skipCount: "true", ...(orgId ? { orgId } : {}) } as const;
  const { data } = useGet("/api/v1/devices", { params: { query } }, { everyMs });
  if (data === undefined || data.data.length > 0) return null;
  return (
    <EmptyState title="No device has enrolled yet." icon={Laptop}>
      <p>It takes a partner, an organization, an enrollment key and an agent: five minutes.</p>
      <Link {...to("/welcome")} className="button" data-weight="primary">
        Bring the first device online
      </Link>
    </EmptyState>
  );
}
