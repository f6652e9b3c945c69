import { claimDomain } from "../../operations/claim-domain.tsx";
import { domainOperations } from "../../operations/domains.tsx";
import { actionsColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";

/** Domains of e-mail addresses that organizations and partners have claimed, proven by a TXT record. */
export function Domains() {
  const [{ orgId }] = useFilters();
  const create = <OperationButton of={{ orgId }} operation={claimDomain} />;
  return (
    <ListPage
      title="Domains"
      section="signIn"
      path="/api/v1/sso/domains"
      filters={["orgId"]}
      actions={create}
      columns={[
        { id: "domain", title: "Domain", cell: ({ domain }) => domain },
        {
          id: "verified",
          title: "Verified",
          width: "10rem",
          cell: ({ verifiedAt }) =>
            verifiedAt === null ? <span className="soft">not yet</span> : <Time at={verifiedAt} />,
        },
        {
          id: "checked",
          title: "Last checked",
          width: "9rem",
          isMinor: true,
          cell: ({ lastCheckedAt }) => <Time at={lastCheckedAt} />,
        },
        { id: "error", title: "Problem", isMinor: true, cell: ({ lastError }) => lastError },
        actionsColumn(domainOperations, ({ domain }) => domain),
      ]}
      empty={
        <EmptyState title="No domain is claimed yet.">
          <p>
            A verified domain leads its people to your identity provider by their e-mail address. An organization's
            provider may create their accounts.
          </p>
          {create}
        </EmptyState>
      }
    />
  );
}
