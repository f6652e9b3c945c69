import { Link } from "@tanstack/react-router";
import { newProvider } from "../../operations/new-provider.tsx";
import { actionsColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { providerOperations } from "../../operations/providers.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { ProviderStatus } from "./provider-status.tsx";

/** Identity providers through which people of the chosen organization or partner sign in. */
export function SingleSignOn() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const create = <OperationButton of={{ orgId }} operation={newProvider} />;
  return (
    <ListPage
      title="Single sign-on"
      noun="providers"
      section="signIn"
      path="/api/v1/sso/providers"
      filters={["orgId", "scope"]}
      {...(me.scope === "partner"
        ? { choices: [{ name: "scope", label: "Whose", options: [["partner", "the partner's own"]] as const }] }
        : {})}
      actions={create}
      columns={[
        {
          id: "name",
          title: "Name",
          cell: ({ id, name }) => <Link {...toRecord("/settings/sso/$id", { id }, { orgId })}>{name}</Link>,
        },
        {
          id: "type",
          title: "Type",
          width: "11rem",
          isMinor: true,
          cell: ({ type }) => (type === "saml" ? "SAML 2.0" : "OpenID Connect"),
        },
        {
          id: "status",
          title: "Health",
          width: "9.5rem",
          as: "state",
          cell: (provider) => <ProviderStatus of={provider} />,
        },
        {
          id: "enforced",
          title: "Passwords",
          width: "11rem",
          cell: ({ enforceSSO, enforcement }) =>
            enforcement.inForce ? "refused" : enforceSSO ? "refused, once proven" : "allowed",
        },
        {
          id: "made",
          title: "Created",
          width: "9rem",
          isMinor: true,
          cell: ({ createdAt }) => <Time at={createdAt} />,
        },
        actionsColumn(providerOperations, ({ name }) => name),
      ]}
      empty={
        <EmptyState title="No identity provider yet.">
          <p>With one, people sign in with the account that they have at work: OpenID Connect or SAML 2.0.</p>
          {create}
        </EmptyState>
      }
    />
  );
}
