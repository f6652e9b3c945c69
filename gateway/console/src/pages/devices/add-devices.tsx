import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget } from "../../api/queries.ts";
import { EnrollmentKeyFields, enrollmentKeyOf } from "../../parts/enrollment-key-fields.tsx";
import forms from "../../parts/field.module.css";
import { SubmitButton } from "../../parts/form-actions.tsx";
import { InstallLines } from "../../parts/install-lines.tsx";
import { to } from "../../parts/links.ts";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { Sides } from "../../parts/sides.tsx";
import { EmptyState, FailureState, NotAllowed } from "../../parts/states.tsx";
import { Step, Steps } from "../../parts/steps.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { useWrite } from "../../parts/use-write.ts";
import { counted } from "../../rules/counted.ts";
import { AgentSystems, NotJoining } from "./before-joining.tsx";
import { JoinedDevices } from "./joined-devices.tsx";

const path = "/api/v1/enrollment-keys";
type Made = {
  id: string;
  key: string;
  name: string;
  siteId: string | null;
  maxUsage: number | null;
  expiresAt: string;
};

/** From an enrollment key to the devices that joined with it. */
export function AddDevices() {
  const me = useMe();
  const why = useWhyNot(`POST ${path}`);
  const [{ orgId }] = useFilters();
  const chosenOrgId = me.orgId ?? orgId;
  return (
    <>
      <PageTitle title="Add devices" sub="One line on each machine; this page shows those that join." />
      {why !== null ? (
        <NotAllowed why={why} />
      ) : chosenOrgId ? (
        <Sides
          main={<Way key={chosenOrgId} orgId={chosenOrgId} />}
          side={
            <>
              <AgentSystems />
              <NotJoining />
            </>
          }
        />
      ) : (
        <EmptyState title="Choose an organization first.">
          <p>A device belongs to one: choose it at the top of the page.</p>
        </EmptyState>
      )}
    </>
  );
}

/** The three steps; the key lives in this component alone. */
function Way({ orgId }: { orgId: string }) {
  const [made, setMade] = useState<Made | null>(null);
  return (
    <Steps>
      {made ? (
        <Step
          number={1}
          title="Create an enrollment key"
          state="done"
          action={<Link {...to("/keys/enrollment", { orgId })}>All keys</Link>}
        >
          <KeyMade of={made} />
        </Step>
      ) : (
        <Step number={1} title="Create an enrollment key" state="current">
          <KeyForm orgId={orgId} onMade={setMade} />
        </Step>
      )}
      <Step number={2} title="Run one line on each machine" state={made ? "current" : "later"}>
        <InstallLines secret={made?.key ?? null} />
      </Step>
      <Step number={3} title={made ? "Machines that joined" : "Machines that join"} state="later">
        {made ? (
          <JoinedDevices keyId={made.id} maxUsage={made.maxUsage} />
        ) : (
          <p className="soft">They are listed here as soon as they enroll, each with its state.</p>
        )}
      </Step>
    </Steps>
  );
}

/** What the key is for, in one line. */
const KeyMade = ({ of: { name, siteId, maxUsage, expiresAt } }: { of: Made }) => (
  <p>
    <b>{name}</b>
    {siteId ? (
      <>
        {" "}
        · <NameOf id={siteId} />
      </>
    ) : null}{" "}
    · {maxUsage === null ? "any number of devices" : counted(maxUsage, "devices")} · ends <Time at={expiresAt} />
  </p>
);

function KeyForm({ orgId, onMade }: { orgId: string; onMade(made: Made): void }) {
  const write = useWrite();
  const forget = useForget();
  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const body = enrollmentKeyOf(new FormData(event.currentTarget), orgId);
    const made = await write.run(() => dataOf(api.POST(path, { body })));
    if (made === null) return;
    onMade(made);
    await forget(path);
  }
  return (
    <form className={forms.form} data-size="wide" onSubmit={send}>
      {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
      <EnrollmentKeyFields orgId={orgId} name="Added by hand" maxUsage={5} errorsOf={write.errorsOf} />
      <div>
        <SubmitButton isRunning={write.isRunning} running="Creating …">
          Create the key
        </SubmitButton>
      </div>
    </form>
  );
}
