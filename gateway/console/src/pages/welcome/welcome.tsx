import { type ReactNode, useState } from "react";
import { useMe } from "../../parts/me.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { NotAllowed } from "../../parts/states.tsx";
import { Step, Steps } from "../../parts/steps.tsx";
import { counted } from "../../rules/counted.ts";
import { type Me, whyNot } from "../../rules/why-not.ts";
import { AgentStep, KeyStep } from "./device-steps.tsx";
import { OrganizationStep, PartnerStep, SiteStep, timeZone } from "./tenant-steps.tsx";
import styles from "./welcome.module.css";

type Made = { partnerId?: string; orgId?: string; siteId?: string; enrollmentKey?: string };

/**
 * From nothing to the first device online: partner, organization, site, enrollment key, agent. What exists already is
 * offered.
 */
export function Welcome() {
  const me = useMe();
  const [made, setMade] = useState<Made>({
    ...(me.partnerId ? { partnerId: me.partnerId } : {}),
    ...(me.orgId ? { orgId: me.orgId } : {}),
  });
  const why = whyNot(me, "POST /api/v1/enrollment-keys");
  if (why !== null) {
    return (
      <>
        <PageTitle title="Welcome" />
        <NotAllowed why={why} />
      </>
    );
  }
  const add = (more: Made) => setMade({ ...made, ...more });
  const steps = stepsOf(me, made, add);
  const current = steps.findIndex(({ done }) => done === null);
  return (
    <>
      <PageTitle title="Bring a device online" sub={`${counted(steps.length, "steps")} to the first heartbeat.`} />
      <div className={styles.way}>
        <Steps>
          {steps.map(({ title, hint, done, form }, at) => (
            <Step
              key={title}
              number={at + 1}
              title={title}
              state={at === current ? "current" : done === null ? "later" : "done"}
            >
              {done ?? <p className="soft">{hint}</p>}
              {at === current ? form() : null}
            </Step>
          ))}
        </Steps>
      </div>
    </>
  );
}

type WelcomeStep = {
  title: string;
  hint: string;
  /** What was made in it; null while it is ahead. */
  done: ReactNode;
  form(): ReactNode;
};

const nameOf = (id: string | undefined) => (id === undefined ? null : <NameOf id={id} />);

/** The steps of a user: what is given by their own scope is none. */
function stepsOf(me: Me, { partnerId, orgId, siteId, enrollmentKey }: Made, add: (more: Made) => void): WelcomeStep[] {
  return [
    ...(me.scope === "system"
      ? [
          {
            title: "Partner",
            hint: "A partner is a service provider or a company; organizations belong to it.",
            done: nameOf(partnerId),
            form: () => <PartnerStep onDone={(id) => add({ partnerId: id })} />,
          },
        ]
      : []),
    ...(me.scope === "organization"
      ? []
      : [
          {
            title: "Organization",
            hint: "An organization is a customer: its devices, people, keys and audit trail are separate from all others'.",
            done: nameOf(orgId),
            form: () => <OrganizationStep partnerId={partnerId ?? ""} onDone={(id) => add({ orgId: id })} />,
          },
        ]),
    {
      title: "Site",
      hint: `A site is where devices stand. Its time zone will be ${timeZone}.`,
      done: nameOf(siteId),
      form: () => <SiteStep orgId={orgId ?? ""} onDone={(id) => add({ siteId: id })} />,
    },
    {
      title: "Enrollment key",
      hint: "Agents enroll with it. It is valid for an hour.",
      done: enrollmentKey === undefined ? null : <p>It is shown below, this once.</p>,
      form: () => <KeyStep orgId={orgId ?? ""} siteId={siteId ?? ""} onDone={(key) => add({ enrollmentKey: key })} />,
    },
    {
      title: "Device online",
      hint: "One line on the machine, which is shown here then.",
      done: null,
      form: () => <AgentStep orgId={orgId ?? ""} enrollmentKey={enrollmentKey ?? ""} />,
    },
  ];
}
