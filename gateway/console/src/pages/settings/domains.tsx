import { claimDomain } from "../../operations/claim-domain.tsx";
import { domainOperations } from "../../operations/domains.tsx";
import { actionsColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { causeColumn } from "../../parts/cause.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
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
          as: "state",
          cell: ({ verifiedAt, lastError }) =>
            verifiedAt === null ? (
              <Status of="not verified" tone={lastError === null ? "warn" : "bad"} />
            ) : (
              <Status of="verified" tone="good" />
            ),
        },
        {
          id: "checked",
          title: "Last checked",
          width: "9rem",
          isMinor: true,
          cell: ({ lastCheckedAt }) => <Time at={lastCheckedAt} />,
        },
        {
          id: "since",
          title: "Since",
          width: "9rem",
          isMinor: true,
          cell: ({ verifiedAt }) => (verifiedAt === null ? null : <Time at={verifiedAt} />),
        },
        causeColumn(({ lastError }) => lastError),
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
