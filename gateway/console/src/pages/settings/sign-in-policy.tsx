import { type FormEvent, useState } from "react";
import { api } from "../../api/api.ts";
import { type BodyOf, dataOf, useForget, useGet } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import forms from "../../parts/field.module.css";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { SaveRow } from "../../parts/save-row.tsx";
import { EmptyState, FailureState, Loading, NotAllowed, Said } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { useWrite } from "../../parts/use-write.ts";

const ofOrganization = "/api/v1/orgs/organizations/{id}/sign-in-policy";
const ofPartner = "/api/v1/orgs/partners/me/sign-in-policy";

/** What the chosen organization, or without one the own partner, requires of its users' sign-ins. */
export function SignInPolicy() {
  const me = useMe();
  const [{ orgId }] = useFilters();
  const why = useWhyNot(`GET ${ofOrganization}`);
  const chosenOrgId = me.orgId ?? orgId;
  return (
    <>
      <PageTitle title="Sign-in policy" />
      <Tabs section="signIn" label="Pages about signing in" />
      {why !== null ? (
        <NotAllowed why={why} />
      ) : chosenOrgId ? (
        <OfOrganization key={chosenOrgId} id={chosenOrgId} />
      ) : me.scope === "partner" ? (
        <OfPartner />
      ) : (
        <EmptyState title="Choose an organization first.">
          <p>The policy is an organization's or a partner's: choose an organization at the top of the page.</p>
        </EmptyState>
      )}
    </>
  );
}

function OfOrganization({ id }: { id: string }) {
  const params = { path: { id } };
  const policy = useGet(ofOrganization, { params });
  const why = useWhyNot(`PUT ${ofOrganization}`);
  if (policy.error) return <FailureState failure={policy.error.failure} onRetry={() => void policy.refetch()} />;
  if (!policy.data) return <Loading what="Loading the policy" />;
  return (
    <Policy
      of={policy.data}
      whose="all users of the organization"
      why={why}
      save={(body) => dataOf(api.PUT(ofOrganization, { params, body }))}
    />
  );
}

function OfPartner() {
  const policy = useGet(ofPartner);
  const why = useWhyNot(`PUT ${ofPartner}`);
  if (policy.error) return <FailureState failure={policy.error.failure} onRetry={() => void policy.refetch()} />;
  if (!policy.data) return <Loading what="Loading the policy" />;
  return (
    <Policy
      of={policy.data}
      whose="all users of the partner and of its organizations"
      why={why}
      save={(body) => dataOf(api.PUT(ofPartner, { body }))}
    />
  );
}

type PolicyProps = {
  of: BodyOf<typeof ofPartner>;
  whose: string;
  /** Why it cannot be changed; null when it can. */
  why: string | null;
  /** Throws Failed, which is shown. */
  save(wanted: { requireSecondFactor: boolean }): Promise<unknown>;
};

function Policy({ of: { requireSecondFactor, effective }, whose, why, save }: PolicyProps) {
  const write = useWrite();
  const forget = useForget();
  const [said, say] = useState<string | null>(null);
  const isInherited = effective.requireSecondFactor && !requireSecondFactor;

  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    say(null);
    const wanted = { requireSecondFactor: new FormData(event.currentTarget).has("requireSecondFactor") };
    if ((await write.run(() => save(wanted))) === null) return;
    say(wanted.requireSecondFactor ? "Saved: whoever has no second factor must enroll one now." : "Saved.");
    await forget(ofPartner, ofOrganization);
  }

  return (
    <Section title="Second factor">
      <form className={forms.form} onSubmit={send}>
        <Said>{said}</Said>
        {write.failure ? <FailureState failure={write.failure} /> : null}
        <fieldset className={forms.plain} disabled={why !== null}>
          <label>
            <input type="checkbox" name="requireSecondFactor" defaultChecked={requireSecondFactor} /> Require a second
            factor of {whose}
          </label>
          <p className="soft">
            {isInherited
              ? "The partner requires it already."
              : "Who has none can do nothing after signing in but enroll one. A factor that an identity provider vouches for counts; API keys are not concerned."}
          </p>
        </fieldset>
        <SaveRow why={why} write={write} />
      </form>
    </Section>
  );
}
