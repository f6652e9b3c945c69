import { useRef, useState } from "react";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { HeadOperations, NextStep } from "../../operations/operation-buttons.tsx";
import { haltSteps, rolloutHead } from "../../operations/rollouts.tsx";
import { Chart } from "../../parts/chart.tsx";
import { Section } from "../../parts/facts.tsx";
import { useMe } from "../../parts/me.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { Notice } from "../../parts/notice.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { haltWords, hasHalt, partWords } from "../../rules/halting-failures.ts";
import { rolloutHealth } from "../../rules/rollout-health.ts";
import { doneWords, shareWords } from "../../rules/rollout-words.ts";
import { limitOf, wavesOf } from "../../rules/waves.ts";
import { whyNot } from "../../rules/why-not.ts";
import styles from "./rollout.module.css";
import { FailureBars, Waves } from "./rollout-bars.tsx";
import { RolloutDevices } from "./rollout-devices.tsx";
import { RolloutStatus } from "./rollout-status.tsx";

type ProgressBody = BodyOf<"/api/v1/agent-versions/rollouts/{id}/progress">;
type Rollout = ProgressBody["rollout"];

/** One rollout: how far it is, what failed against what may fail, how fast it goes, and its devices. */
export function RolloutPage() {
  const id = useRecordId("/releases/rollouts/$id");
  const params = { path: { id } };
  const progress = useGet("/api/v1/agent-versions/rollouts/{id}/progress", { params }, { everyMs: 5_000 });
  const [chosen, setState] = useState<string | null>(null);
  const devices = useRef<HTMLDivElement>(null);
  const showFailed = () => {
    setState("failed");
    devices.current?.focus();
  };
  if (!progress.data) return <RecordState title="Rollout" of={progress} />;
  const { rollout, buckets, expectedEnd } = progress.data;
  const name = `${rollout.component} ${rollout.version}`;
  const waves = wavesOf(rollout, progress.data.waves);
  // What failed is what is looked for where a rollout does not go well.
  const state = chosen ?? (rollout.failed > 0 && rolloutHealth(rollout).tone === "bad" ? "failed" : "");
  return (
    <>
      <PageTitle
        title={name}
        status={<RolloutStatus of={rollout} />}
        sub={
          <span>
            <b className="number">{doneWords(rollout, waves)}</b>
            {"\u00a0· "}
            {shareWords(rollout)}
            {"\u00a0· "}started <Time at={rollout.createdAt} />
          </span>
        }
        actions={<HeadOperations of={rollout} operations={rolloutHead(rollout)} name={name} />}
      />
      <Halts of={rollout} showFailed={showFailed} />
      <div className={styles.cards}>
        <Waves waves={waves} rollout={rollout} expectedEnd={expectedEnd} />
        <FailureBars rollout={rollout} waves={waves} />
        <Section title="Updates over time">
          {buckets.length > 0 ? (
            <Chart
              label="Updates over time"
              size="fitting"
              series={[
                { name: "Updated", tone: "good" },
                { name: "Failed", tone: "bad" },
                { name: "Offered", tone: "off" },
              ]}
              points={buckets.map(({ at, succeeded, failed, offered }) => ({
                at,
                values: [succeeded, failed, offered],
              }))}
            />
          ) : (
            <p className="soft">Nothing has been offered yet.</p>
          )}
        </Section>
      </div>
      <div ref={devices} tabIndex={-1}>
        <RolloutDevices of={rollout} state={state} setState={setState} />
      </div>
    </>
  );
}

type HaltsProps = { of: Rollout; showFailed(): void };

/** Where it halted, and why, with the ways on from there. */
function Halts({ of: rollout, showFailed }: HaltsProps) {
  const { state, reason: newest, haltedParts } = rollout;
  const me = useMe();
  // While parts alone are halted, the newest reason is that of one of them.
  const reason = state === "halted" || haltedParts.length === 0 ? newest : null;
  if (!hasHalt(rollout)) return null;
  const words = reason ? haltWords(reason, limitOf(rollout).failed) : null;
  const steps = (
    <>
      <button type="button" data-weight="primary" onClick={showFailed}>
        See failed devices
      </button>
      {haltSteps(rollout)
        .filter(({ needs }) => whyNot(me, needs) === null)
        .map((operation) => (
          <NextStep
            key={operation.id}
            of={rollout}
            operation={operation}
            name={`of ${rollout.component} ${rollout.version}`}
            isLarge
          />
        ))}
    </>
  );
  return (
    <>
      {words ? (
        <Notice tone="bad" title={words.title} action={steps}>
          <Sentence of={words.rest} />
        </Notice>
      ) : null}
      {haltedParts.map(({ kind, orgId, platform, reason: why, haltedAt, ...counts }, at) => (
        <Notice
          key={`${kind} ${orgId} ${platform}`}
          tone="bad"
          title={
            <>
              {platform ?? (orgId ? <NameOf id={orgId} /> : "A part")} was halted <Time at={haltedAt} />.
            </>
          }
          action={reason || at > 0 ? null : steps}
        >
          <Sentence of={partWords(why, counts)} />
          {state === "running" ? " All other devices go on." : null}
        </Notice>
      ))}
    </>
  );
}
