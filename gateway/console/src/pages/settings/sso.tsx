import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { newProvider } from "../../operations/new-provider.tsx";
import { actionsColumn, nextColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { providerOperations, replaceCertificate } from "../../operations/providers.tsx";
import { causeColumn } from "../../parts/cause.tsx";
import { EndsAt } from "../../parts/ends-at.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { EmptyState } from "../../parts/states.tsx";
import type { Column } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { certificateDays, lastCertificateEnd } from "../../rules/ending.ts";
import { providerHealth } from "../../rules/health.ts";
import type { Me } from "../../rules/why-not.ts";
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
      toneOf={(provider) => providerHealth(provider, new Date()).tone}
      actions={create}
      columns={columns(me, orgId)}
      empty={
        <EmptyState title="No identity provider yet.">
          <p>With one, people sign in with the account that they have at work: OpenID Connect or SAML 2.0.</p>
          {create}
        </EmptyState>
      }
    />
  );
}

type Provider = ItemOf<"/api/v1/sso/providers">;

const columns = (me: Me, orgId: string | undefined): Column<Provider>[] => [
  {
    id: "name",
    title: "Name",
    cell: ({ id, name }) => <Link {...toRecord("/settings/sso/$id", { id }, { orgId })}>{name}</Link>,
  },
  {
    id: "type",
    title: "Type",
    width: "9rem",
    cell: ({ type }) => (type === "saml" ? "SAML 2.0" : "OpenID Connect"),
  },
  {
    id: "status",
    title: "Health",
    width: "11rem",
    as: "state",
    cell: (provider) => <ProviderStatus of={provider} />,
  },
  {
    id: "enforced",
    title: "Passwords",
    width: "9.5rem",
    isMinor: true,
    cell: ({ enforceSSO, enforcement }) =>
      enforcement.inForce ? "refused" : enforceSSO ? "refused, once proven" : "allowed",
  },
  {
    id: "certificate",
    title: "Certificate ends",
    width: "9rem",
    isMinor: true,
    cell: (provider) => {
      const end = lastCertificateEnd(provider);
      return end === null ? null : <EndsAt at={end} days={certificateDays} />;
    },
  },
  causeColumn((provider) =>
    providerHealth(provider, new Date()).tone === "bad" ? (provider.health?.reason ?? null) : null,
  ),
  {
    id: "made",
    title: "Created",
    width: "8rem",
    isMinor: true,
    isExtra: true,
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
  nextColumn(me, [replaceCertificate], ({ name }) => name),
  actionsColumn(providerOperations, ({ name }) => name),
];
