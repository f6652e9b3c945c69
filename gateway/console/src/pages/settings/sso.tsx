import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { newProvider } from "../../operations/new-provider.tsx";
import { actionsColumn, nextColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { providerOperations, replaceCertificate } from "../../operations/providers.tsx";
import { Cause } from "../../parts/cause.tsx";
import type { Column } from "../../parts/column.ts";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { stateColumn } from "../../parts/state-column.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Instant, Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { ago } from "../../rules/ago.ts";
import { lastCertificateEnd } from "../../rules/ending.ts";
import { endsSoon, providerHealth } from "../../rules/health.ts";
import type { Me } from "../../rules/why-not.ts";
import { SignInFacts } from "./sign-in-facts.tsx";

/** Identity providers through which people of the chosen organization or partner sign in. */
export function SingleSignOn() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const chosenOrgId = me.orgId ?? orgId;
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
      isShort
      foot={() => (chosenOrgId ? <SignInFacts orgId={chosenOrgId} /> : null)}
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

/** How a provider is, in a word; one whose last certificate ends, by when. */
function stateOf(provider: Provider) {
  const now = new Date();
  const shown = providerHealth(provider, now);
  const end = lastCertificateEnd(provider);
  return shown.tone === "warn" && end !== null && endsSoon(provider, now)
    ? { ...shown, word: `certificate ends ${ago(new Date(end), now, "long")}` }
    : shown;
}

/** Whether people whom nobody invited get an account. */
const makesAccounts = ({ autoProvision, defaultRoleId }: Provider) => autoProvision && defaultRoleId !== null;

/** Why sign-ins fail, or until when they work. */
function noteOf(provider: Provider) {
  const now = new Date();
  const { tone } = providerHealth(provider, now);
  const reason = provider.health?.reason ?? "";
  if (tone === "bad") return <Cause of={reason} />;
  const end = lastCertificateEnd(provider);
  if (end === null || provider.status !== "active") return reason;
  return (
    <>
      {endsSoon(provider, now) ? "Nobody signs in through it after" : "Its last certificate ends"} <Instant at={end} />
    </>
  );
}

const columns = (me: Me, orgId: string | undefined): Column<Provider>[] => [
  {
    id: "name",
    title: "Name",
    width: "15rem",
    hasNote: true,
    cell: ({ id, name, type, allowedDomains }) => (
      <>
        <Link {...toRecord("/settings/sso/$id", { id }, { orgId })}>{name}</Link>
        <small>
          {type === "saml" ? "SAML 2.0" : "OpenID Connect"}
          {allowedDomains ? ` · ${allowedDomains}` : null}
        </small>
      </>
    ),
  },
  stateColumn({ title: "Health", stateOf, noteOf }),
  {
    id: "new",
    title: "New people",
    width: "10rem",
    isMinor: true,
    isQuiet: (provider) => !makesAccounts(provider),
    cell: (provider) => (makesAccounts(provider) ? "get an account" : "need an invitation"),
  },
  {
    id: "enforced",
    title: "Passwords",
    width: "9.5rem",
    isMinor: true,
    isQuiet: ({ enforceSSO, enforcement }) => !enforceSSO && !enforcement.inForce,
    cell: ({ enforceSSO, enforcement }) =>
      enforcement.inForce ? "refused" : enforceSSO ? "refused, once proven" : "allowed",
  },
  {
    id: "made",
    title: "Created",
    width: "8rem",
    as: "none",
    isExtra: true,
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
  nextColumn(me, [replaceCertificate], ({ name }) => name),
  actionsColumn(providerOperations, ({ name }) => name),
];
