import { Link } from "@tanstack/react-router";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { useWhyNot } from "../../parts/me.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { FailureState, Loading } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Instant, Time } from "../../parts/time.tsx";
import { decisionDetail, decisionState, dependsOnRollout } from "../../rules/decision-state.ts";
import { needsLook } from "../../rules/device-needs.ts";
import { reasonSentence } from "../../rules/reason-sentences.ts";
import styles from "./device.module.css";

/** Leads to the rollouts of a program that waits for one of them. */
function RolloutsOf({ of }: { of: Component }) {
  const isHidden = useWhyNot("GET /api/v1/agent-versions/rollouts") !== null;
  if (isHidden || !dependsOnRollout(of)) return null;
  return (
    <Link {...to("/releases/rollouts", { component: of.component })}>
      Rollouts<span className="visually-hidden"> of the {of.component}</span>
    </Link>
  );
}

/**
 * Why the device's programs update or do not; with `isShort` below what needs a look, which it does not repeat, and
 * without absent programs and earlier updates.
 */
export function DeviceUpdates({ id, isShort = false }: { id: string; isShort?: boolean }) {
  const isHidden = useWhyNot("GET /api/v1/devices/{id}/update-decision") !== null;
  const decision = useGet("/api/v1/devices/{id}/update-decision", { params: { path: { id } } }, { enabled: !isHidden });
  if (isHidden) return null;
  const [first] = decision.data?.components ?? [];
  const all = decision.data?.components.filter(({ rule }) => !isShort || rule !== "not_reported") ?? [];
  const isQuiet = ({ rule }: (typeof all)[number]) => isShort && rule === "no_target";
  const shown = all.filter((each) => !isQuiet(each));
  return (
    <>
      <Section
        title="Updates"
        {...(first
          ? {
              action: (
                <p>
                  next check <Time at={first.nextCheckAt} />
                </p>
              ),
            }
          : {})}
      >
        {decision.error ? (
          <FailureState failure={decision.error.failure} onRetry={() => void decision.refetch()} />
        ) : null}
        {decision.isPending ? <Loading /> : null}
        {shown.length > 0 ? (
          <PlainTable {...(isShort ? shortShape : { columns: ["Program", "Runs", "Target", "Decision"] })}>
            {shown.map((each) => (
              <tr key={each.component}>
                <th scope="row" className={styles.program}>
                  {each.component}
                  {isShort ? <small className="number">{versions(each)}</small> : null}
                </th>
                {isShort ? null : (
                  <>
                    <td className="number">{each.current ?? "not reported"}</td>
                    <td className="number">{each.target ?? "none"}</td>
                  </>
                )}
                <td>
                  <Status {...decisionState(each)} />
                  {isShort && needsLook(each) ? null : (
                    <>
                      {" "}
                      <span className="soft">
                        <Sentence of={decisionDetail(each)} />
                      </span>{" "}
                      <RolloutsOf of={each} />
                    </>
                  )}
                </td>
              </tr>
            ))}
          </PlainTable>
        ) : null}
        {all.filter(isQuiet).map(({ component, current, detail }) => (
          <p key={component} className={`soft ${styles.program}`}>
            {component} {current}: <Sentence of={detail} />
          </p>
        ))}
      </Section>
      {isShort || !decision.data ? null : <EarlierUpdates of={decision.data.attempts} />}
    </>
  );
}

const shortShape = { columns: ["Program", "Decision"], isBrief: true } as const;

type Component = BodyOf<"/api/v1/devices/{id}/update-decision">["components"][number];

/** The version that runs, and the one that is to run where that is another one. */
const versions = ({ current, target }: Pick<Component, "current" | "target">): string =>
  target === null || target === current ? (current ?? "not reported") : `${current ?? "not reported"} → ${target}`;

type Attempts = BodyOf<"/api/v1/devices/{id}/update-decision">["attempts"];

/** The versions that were offered to the device. */
const EarlierUpdates = ({ of: attempts }: { of: Attempts }) => (
  <Section title="Earlier updates">
    {attempts.length === 0 ? <p className="soft">None was offered to it yet.</p> : null}
    {attempts.length > 0 ? (
      <PlainTable columns={["Version", "From", "State", "Offered"]}>
        {attempts.map((attempt) => (
          <tr key={attempt.id}>
            <th scope="row">
              <Link {...toRecord("/releases/rollouts/$id", { id: attempt.rolloutId })}>
                {attempt.component} {attempt.version}
              </Link>
            </th>
            <td>{attempt.fromVersion}</td>
            <td>
              <Status of={attempt.state} /> <span className="soft">{reasonSentence(attempt.reason)}</span>
            </td>
            <td>
              <Instant at={attempt.offeredAt} />
            </td>
          </tr>
        ))}
      </PlainTable>
    ) : null}
  </Section>
);
