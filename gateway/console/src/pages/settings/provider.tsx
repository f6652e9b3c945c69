import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { type BodyOf, dataOf, Failed, useForget, useGet } from "../../api/queries.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { DeleteRecord } from "../../parts/delete-record.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import { to } from "../../parts/links.ts";
import { CopyButton } from "../../parts/list-head.tsx";
import { Operation } from "../../parts/operation.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Said } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { failureSentence } from "../../rules/failure-sentence.ts";
import { Attempts } from "./attempts.tsx";
import { ChangeProvider } from "./change-provider.tsx";

type Provider = BodyOf<"/api/v1/sso/providers/{id}">;
type Asking = ProviderStatus | "change" | "delete" | null;

type ProviderStatus = "inactive" | "testing" | "active";

const steps: Readonly<Record<ProviderStatus, { verb: string; says: string; done: string }>> = {
  active: {
    verb: "Activate",
    says: "People sign in through it from now on.",
    done: "The provider is active.",
  },
  testing: {
    verb: "Test it",
    says: "Nobody can sign in through it. Administrators link their own account in their profile, which runs every check.",
    done: "The provider is being tested: link your account in your profile.",
  },
  inactive: {
    verb: "Deactivate",
    says: "Nobody can sign in through it any more; sessions continue. Passwords work again where it enforced single sign-on.",
    done: "The provider is inactive.",
  },
};

const notInForce = {
  not_wanted: null,
  not_active: "once it is active and an administrator has signed in through it",
  not_proven: "once an administrator has signed in through it",
} as const;

/** One identity provider: what to register there, what it may do here, and how sign-ins through it end. */
export function ProviderPage() {
  const id = useRecordId("/settings/sso/$id");
  const params = { path: { id } };
  const provider = useGet("/api/v1/sso/providers/{id}", { params });
  const [asking, ask] = useState<Asking>(null);
  const [said, say] = useState<string | null>(null);
  const [isTrying, setTrying] = useState(false);
  const forget = useForget();
  const navigate = useNavigate();
  if (!provider.data) return <RecordState title="Identity provider" of={provider} />;
  const { data } = provider;
  const close = () => ask(null);
  const changed = async (sentence: string) => {
    say(sentence);
    await forget("/api/v1/sso/providers");
  };
  async function tryIt() {
    setTrying(true);
    say(null);
    try {
      const found = await dataOf(api.POST("/api/v1/sso/providers/{id}/test", { params }));
      await changed(`The provider answers${found.issuer ? ` as ${found.issuer}` : ""}. Nothing was changed.`);
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      say(`It does not answer as it should. ${failureSentence(error.failure)}`);
    } finally {
      setTrying(false);
    }
  }
  const others = (Object.keys(steps) as ProviderStatus[]).filter((status) => status !== data.status);
  const toRegister = [
    ["Redirect address", data.callbackUrl],
    ["Assertion consumer service", data.samlAcsUrl],
    ["Our metadata and entity id", data.samlSpMetadataUrl],
  ] as const;
  const when = data.enforcement.reason ? notInForce[data.enforcement.reason] : null;
  return (
    <>
      <PageTitle title={data.name} status={data.status} />
      <Said>{said}</Said>
      <Section title="To register at the provider">
        <PlainTable columns={["What", "Value"]} hasActions>
          {toRegister.map(([what, value]) =>
            value === null ? null : (
              <tr key={what}>
                <th scope="row">{what}</th>
                <td>
                  <code>{value}</code>
                </td>
                <td>
                  <CopyButton what={what.toLowerCase()} text={() => value} />
                </td>
              </tr>
            ),
          )}
        </PlainTable>
      </Section>
      <ProviderFacts data={data} isTrying={isTrying} tryIt={tryIt} others={others} ask={ask} when={when} />
      <Certificates data={data} />
      <Attempts id={id} />
      <ProviderQuestions
        data={data}
        asking={asking}
        close={close}
        params={params}
        changed={changed}
        navigate={navigate}
      />
    </>
  );
}

function ProviderFacts({
  data,
  isTrying,
  tryIt,
  others,
  ask,
  when,
}: {
  data: Provider;
  isTrying: boolean;
  tryIt(): Promise<void>;
  others: readonly ProviderStatus[];
  ask(what: Asking): void;
  when: string | null;
}) {
  return (
    <Section
      title="Facts"
      action={
        <div>
          <Operation name="POST /api/v1/sso/providers/{id}/test" onClick={() => void tryIt()}>
            {isTrying ? "Asking it …" : "Ask it"}
          </Operation>{" "}
          {others.map((status) => (
            <span key={status}>
              <Operation name="POST /api/v1/sso/providers/{id}/status" onClick={() => ask(status)}>
                {steps[status].verb} …
              </Operation>{" "}
            </span>
          ))}
          <Operation name="PATCH /api/v1/sso/providers/{id}" onClick={() => ask("change")}>
            Change …
          </Operation>{" "}
          <Operation name="DELETE /api/v1/sso/providers/{id}" onClick={() => ask("delete")}>
            Delete …
          </Operation>
        </div>
      }
    >
      <Facts
        of={[
          ["Health", data.health?.reason],
          ["Protocol", data.type === "saml" ? "SAML 2.0" : "OpenID Connect"],
          ["Issuer", data.issuer ?? data.samlEntityId],
          ...(data.type === "oidc"
            ? ([
                ["Client id", data.clientId],
                ["Client secret", data.hasClientSecret ? "kept sealed" : null],
                ["Scopes", data.scopes],
              ] as const)
            : ([
                ["Metadata address", data.samlMetadataUrl],
                ["Metadata read", <Time key="read" at={data.samlMetadataAt} />],
                ["Reading failed", data.samlMetadataError],
              ] as const)),
          ["E-mail domains", data.allowedDomains || "all"],
          ["Accounts of new people", data.autoProvision && data.defaultRoleId ? "are made" : "need an invitation"],
          ["Passwords", data.enforcement.inForce ? "refused" : when === null ? "allowed" : `allowed; refused ${when}`],
          ["Its second factor counts", data.trustIdpMfa ? "yes" : "no"],
        ]}
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
              <Time at={notAfter} />
            </td>
            <td>{source}</td>
          </tr>
        ))}
      </PlainTable>
    </Section>
  ) : null;
}

function ProviderQuestions({
  data,
  asking,
  close,
  params,
  changed,
  navigate,
}: {
  data: Provider;
  asking: Asking;
  close(): void;
  params: { path: { id: string } };
  changed(sentence: string): Promise<void>;
  navigate: ReturnType<typeof useNavigate>;
}) {
  return (
    <>
      {asking === "change" ? <ChangeProvider of={data} onClose={close} onDone={changed} /> : null}
      {asking === "active" || asking === "testing" || asking === "inactive" ? (
        <Confirm
          title={`${steps[asking].verb}: ${data.name}?`}
          verb={steps[asking].verb}
          onClose={close}
          action={async () => {
            await dataOf(api.POST("/api/v1/sso/providers/{id}/status", { params, body: { status: asking } }));
            await changed(steps[asking].done);
          }}
        >
          <p>{steps[asking].says}</p>
        </Confirm>
      ) : null}
      {asking === "delete" ? (
        <DeleteRecord
          name={data.name}
          remove={() => dataOf(api.DELETE("/api/v1/sso/providers/{id}", { params }))}
          forgets={["/api/v1/sso/providers"]}
          leave={() => navigate(to("/settings/sso", { orgId: data.orgId ?? undefined }))}
          onClose={close}
        >
          <p>It is deleted with all links of accounts. People without a password need a link to set one.</p>
        </DeleteRecord>
      ) : null}
    </>
  );
}
