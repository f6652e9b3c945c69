import { type BodyOf, useGet } from "../../api/queries.ts";
import { HeadOperations } from "../../operations/operation-buttons.tsx";
import { providerOperations } from "../../operations/providers.tsx";
import { EndsAt } from "../../parts/ends-at.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import { Address, LongCode } from "../../parts/long-text.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Sides } from "../../parts/sides.tsx";
import { Time, useNow } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { certificateDays } from "../../rules/ending.ts";
import { endsSoon } from "../../rules/health.ts";
import { ActivationSteps } from "./activation-steps.tsx";
import { Attempts } from "./attempts.tsx";
import { ProviderNeeds } from "./provider-needs.tsx";
import { ProviderStatus } from "./provider-status.tsx";

type Provider = BodyOf<"/api/v1/sso/providers/{id}">;
const notInForce = {
  not_wanted: null,
  not_active: "once it is active and an administrator has signed in through it",
  not_proven: "once an administrator has signed in through it",
} as const;

/** One identity provider: what to register there, what it may do here, and how sign-ins through it end. */
export function ProviderPage() {
  const id = useRecordId("/settings/sso/$id");
  const now = useNow(60_000);
  const provider = useGet("/api/v1/sso/providers/{id}", { params: { path: { id } } });
  if (!provider.data) return <RecordState title="Identity provider" of={provider} />;
  const { data } = provider;
  const areCertificatesFirst = endsSoon(data, now);
  const when = data.enforcement.reason ? notInForce[data.enforcement.reason] : null;
  return (
    <>
      <PageTitle
        title={data.name}
        status={<ProviderStatus of={data} />}
        sub={data.type === "saml" ? "SAML 2.0" : "OpenID Connect"}
        actions={<HeadOperations of={data} operations={providerOperations} name={data.name} />}
      />
      <ProviderNeeds of={data} />
      <Sides
        main={
          <>
            {data.status === "testing" ? <ActivationSteps of={data} /> : null}
            {areCertificatesFirst ? <Certificates data={data} /> : null}
            <Attempts id={id} />
            {areCertificatesFirst ? null : <Certificates data={data} />}
          </>
        }
        side={
          <>
            <SignInRules data={data} when={when} />
            <Connection data={data} />
            <ToRegister data={data} />
          </>
        }
      />
    </>
  );
}

/** What the provider may do here. */
const SignInRules = ({ data, when }: { data: Provider; when: string | null }) => (
  <Section title="How people sign in">
    <Facts
      of={[
        ["E-mail domains", data.allowedDomains || "all"],
        [
          "New people",
          data.autoProvision && data.defaultRoleId ? "get an account at the first sign-in" : "need an invitation",
        ],
        ["Passwords", data.enforcement.inForce ? "refused" : when === null ? "allowed" : `allowed; refused ${when}`],
        ["Second factor", data.trustIdpMfa ? "the provider's counts, too" : "only one that was set up here counts"],
      ]}
      isWide
    />
  </Section>
);

/** Where the provider is, and how Muster signs in to it. */
function Connection({ data }: { data: Provider }) {
  const issuer = data.issuer ?? data.samlEntityId;
  return (
    <Section title="Connection">
      <Facts
        of={[
          ["Issuer", issuer ? <Address key="issuer" of={issuer} /> : null],
          ...(data.type === "oidc"
            ? ([
                ["Client id", data.clientId],
                ["Client secret", data.hasClientSecret ? "kept sealed" : null],
                ["Scopes", data.scopes],
              ] as const)
            : ([
                ["Metadata address", data.samlMetadataUrl ? <Address key="url" of={data.samlMetadataUrl} /> : null],
                ["Metadata read", data.samlMetadataAt ? <Time key="read" at={data.samlMetadataAt} /> : null],
                ["Metadata error", data.samlMetadataError],
              ] as const)),
        ]}
        isBrief
        isWide
      />
    </Section>
  );
}

/** Addresses of ours that the provider is given. */
function ToRegister({ data }: { data: Provider }) {
  const addresses = [
    ["Redirect address", data.callbackUrl],
    ["Assertion consumer service", data.samlAcsUrl],
    ["Our metadata and entity id", data.samlSpMetadataUrl],
  ] as const;
  return (
    <Section title="To register at the provider">
      <Facts
        of={addresses.map(([what, value]) => [
          what,
          value === null ? null : <LongCode key={what} of={value} what={what.toLowerCase()} />,
        ])}
        isBrief
        isStacked
      />
    </Section>
  );
}

function Certificates({ data }: { data: Provider }) {
  return data.samlCertificates.length > 0 ? (
    <Section title="Certificates">
      <PlainTable columns={["SHA-256", "From", "Until", "Source"]}>
        {data.samlCertificates.map(({ fingerprint, notBefore, notAfter, source }) => (
          <tr key={fingerprint}>
            <td>
              <code>{fingerprint.slice(0, 16)}…</code>
            </td>
            <td>
              <Time at={notBefore} />
            </td>
            <td>
              <EndsAt at={notAfter} days={certificateDays} />
            </td>
            <td>{source === "metadata" && data.samlMetadataUrl === null ? "metadata, as entered" : source}</td>
          </tr>
        ))}
      </PlainTable>
    </Section>
  ) : null;
}
