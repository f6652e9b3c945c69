import { type ReactNode, useState } from "react";
import { Section } from "../../parts/facts.tsx";
import forms from "../../parts/field.module.css";
import { useMe } from "../../parts/me.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { Sides } from "../../parts/sides.tsx";
import { NotAllowed } from "../../parts/states.tsx";
import { StepNumber, stepState } from "../../parts/steps.tsx";
import { counted } from "../../rules/counted.ts";
import { type Me, whyNot } from "../../rules/why-not.ts";
import { AgentSystems, NotJoining } from "../devices/before-joining.tsx";
import { AgentStep, KeyStep } from "./device-steps.tsx";
import { OrganizationStep, PartnerStep, SiteStep, timeZone } from "./tenant-steps.tsx";
import styles from "./welcome.module.css";

type Made = { partnerId?: string; orgId?: string; siteId?: string; enrollmentKey?: string };

/**
 * From nothing to the first device online: partner, organization, site, enrollment key, agent. What exists already is
 * offered; what was chosen can be changed.
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
  const at = steps.findIndex(({ done }) => done === null);
  /** What follows from a step is chosen again, too. */
  const backTo = (index: number) => {
    const later = steps.slice(index);
    setMade(Object.fromEntries(Object.entries(made).filter(([name]) => later.every(({ makes }) => makes !== name))));
  };
  return (
    <>
      <PageTitle title="Bring a device online" sub={`${counted(steps.length, "steps")} to the first heartbeat.`} />
      <Sides
        main={<Way of={steps} at={at} backTo={backTo} />}
        side={
          <>
            <AgentSystems />
            <NotJoining />
          </>
        }
      />
    </>
  );
}

type WayProps = { of: readonly WelcomeStep[]; at: number; backTo(index: number): void };

/** All steps, a line for each: what was chosen in it and how to change that, or what it is for; one is open. */
const Way = ({ of: steps, at, backTo }: WayProps) => (
  <Section title={`Step ${at + 1} of ${steps.length}`}>
    <ol className={styles.way}>
      {steps.map(({ title, says, hint, done, form }, index) => (
        <li key={title} aria-current={index === at ? "step" : undefined}>
          <StepNumber of={index + 1} state={stepState(index, at)} />
          <div>
            <b>{title}</b> <span className="soft">{index === at ? null : (done ?? says)}</span>
            {index === at ? (
              <div className={forms.form}>
                <p className="soft">{hint}</p>
                {form()}
              </div>
            ) : null}
          </div>
          {done === null ? null : (
            <button type="button" data-weight="link" onClick={() => backTo(index)}>
              Change<span className="visually-hidden"> {title}</span>
            </button>
          )}
        </li>
      ))}
    </ol>
  </Section>
);

type WelcomeStep = {
  title: string;
  /** What it is for, in a few words, and in a sentence. */
  says: string;
  hint: string;
  makes: keyof Made | null;
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
            says: "a service provider or a company",
            hint: "A partner is a service provider or a company; organizations belong to it.",
            makes: "partnerId",
            done: nameOf(partnerId),
            form: () => <PartnerStep onDone={(id) => add({ partnerId: id })} />,
          } as const,
        ]
      : []),
    ...(me.scope === "organization"
      ? []
      : [
          {
            title: "Organization",
            says: "a customer",
            hint: "An organization is a customer: its devices, people, keys and audit trail are separate from all others'.",
            makes: "orgId",
            done: nameOf(orgId),
            form: () => <OrganizationStep partnerId={partnerId ?? ""} onDone={(id) => add({ orgId: id })} />,
          } as const,
        ]),
    {
      title: "Site",
      says: "where devices stand",
      hint: `A site is where devices stand. Its time zone will be ${timeZone}.`,
      makes: "siteId",
      done: nameOf(siteId),
      form: () => <SiteStep orgId={orgId ?? ""} onDone={(id) => add({ siteId: id })} />,
    },
    {
      title: "Enrollment key",
      says: "agents enroll with it",
      hint: "Agents enroll with it. It is valid for an hour.",
      makes: "enrollmentKey",
      done: enrollmentKey === undefined ? null : "created",
      form: () => <KeyStep orgId={orgId ?? ""} siteId={siteId ?? ""} onDone={(key) => add({ enrollmentKey: key })} />,
    },
    {
      title: "Device online",
      says: "one line on the machine",
      hint: "Run one line on the machine: it is shown here as soon as it is online.",
      makes: null,
      done: null,
      form: () => <AgentStep orgId={orgId ?? ""} enrollmentKey={enrollmentKey ?? ""} />,
    },
  ];
}
