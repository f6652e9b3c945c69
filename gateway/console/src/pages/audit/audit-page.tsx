import type { ReactNode } from "react";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { EmptyState, NotAllowed } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { useFilters } from "../../parts/use-filters.ts";

type AuditPageProps = { title: string; needs: string; children(orgId: string): ReactNode };

/** A page about one organization's audit trail as a whole. */
export function AuditPage({ title, needs, children }: AuditPageProps) {
  const me = useMe();
  const why = useWhyNot(needs);
  const [{ orgId }] = useFilters();
  const chosenOrgId = me.orgId ?? orgId;
  return (
    <>
      <PageTitle title={title} />
      <Tabs section="audit" label="Pages about the audit trail" />
      {why !== null ? (
        <NotAllowed why={why} />
      ) : chosenOrgId ? (
        children(chosenOrgId)
      ) : (
        <EmptyState title="Choose an organization first.">
          <p>This is kept per organization: choose one at the top of the page.</p>
        </EmptyState>
      )}
    </>
  );
}
