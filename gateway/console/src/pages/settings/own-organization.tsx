import { useMe } from "../../parts/me.tsx";
import { OrganizationLogs } from "../../parts/organization-logs.tsx";
import { OrganizationUpdates } from "../../parts/organization-updates.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { SettingsPage } from "./settings-page.tsx";

/** The chosen organization, or one's own: when its devices update, and how much its agents may log. */
export function OwnOrganization() {
  const me = useMe();
  const [{ orgId }] = useFilters();
  const id = me.orgId ?? orgId;
  return (
    <SettingsPage title="Organization" needs="GET /api/v1/orgs/organizations/{id}/agent-updates">
      {id ? (
        <div key={id}>
          <OrganizationUpdates id={id} />
          <OrganizationLogs id={id} />
        </div>
      ) : (
        <EmptyState title="Choose an organization first.">
          <p>Updates and logs are an organization's: choose one at the top of the page.</p>
        </EmptyState>
      )}
    </SettingsPage>
  );
}
