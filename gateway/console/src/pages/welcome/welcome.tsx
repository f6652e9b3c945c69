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
  const current = steps.findIndex(({ made }) => made === undefined);
  return (
    <>
      <PageTitle title="Bring a device online" sub={`${counted(steps.length, "steps")} to the first heartbeat.`} />
      <div className={styles.way}>
        <Steps>
          {steps.map(({ title, hint, made, form }, at) => (
            <Step
              key={title}
              number={at + 1}
              title={title}
              state={at === current ? "current" : made === undefined ? "later" : "done"}
            >
              {made ? (
                <NameOf id={made} />
              ) : made === "" ? (
                <p>It is shown below, this once.</p>
              ) : (
                <p className="soft">{hint}</p>
              )}
              {at === current ? form() : null}
            </Step>
          ))}
        </Steps>
      </div>
    </>
  );
}

type StepToDo = { title: string; hint: string; made: string | undefined; form(): ReactNode };

/** The steps of a user, each with what was made in it: an id, or an empty text where nothing can be named. */
function stepsOf(me: Me, { partnerId, orgId, siteId, enrollmentKey }: Made, add: (more: Made) => void): StepToDo[] {
  return [
    ...(me.scope === "system"
      ? [
          {
            title: "Partner",
            hint: "A partner is a service provider or a company; organizations belong to it.",
            made: partnerId,
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
            made: orgId,
            form: () => <OrganizationStep partnerId={partnerId ?? ""} onDone={(id) => add({ orgId: id })} />,
          },
        ]),
    {
      title: "Site",
      hint: `A site is where devices stand. Its time zone will be ${timeZone}.`,
      made: siteId,
      form: () => <SiteStep orgId={orgId ?? ""} onDone={(id) => add({ siteId: id })} />,
    },
    {
      title: "Enrollment key",
      hint: "Agents enroll with it. It is valid for an hour.",
      made: enrollmentKey && "",
      form: () => <KeyStep orgId={orgId ?? ""} siteId={siteId ?? ""} onDone={(key) => add({ enrollmentKey: key })} />,
    },
    {
      title: "Device online",
      hint: "One line on the machine, which is shown here then.",
      made: undefined,
      form: () => <AgentStep orgId={orgId ?? ""} enrollmentKey={enrollmentKey ?? ""} />,
    },
  ];
}
