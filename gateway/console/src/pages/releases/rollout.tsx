import { CircleAlert } from "lucide-react";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { HeadOperations } from "../../operations/operation-buttons.tsx";
import { rolloutOperations } from "../../operations/rollouts.tsx";
import { Chart } from "../../parts/chart.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { wavesOf } from "../../rules/waves.ts";
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
  if (!progress.data) return <RecordState title="Rollout" of={progress} />;
  const { rollout, buckets, expectedEnd } = progress.data;
  const name = `${rollout.component} ${rollout.version}`;
  const waves = wavesOf(rollout, progress.data.waves);
  return (
    <>
      <PageTitle
        title={name}
        status={<RolloutStatus of={rollout} />}
        sub={
          <span>
            {rollout.kind === "guard" ? "Guards the fleet's target" : `${rollout.percent} % of the devices`} · started{" "}
            <Time at={rollout.createdAt} />
            {expectedEnd ? (
              <>
                {" "}
                · updates in flight end <Time at={expectedEnd} />
              </>
            ) : null}
          </span>
        }
        actions={<HeadOperations of={rollout} operations={rolloutOperations} name={name} />}
      />
      <Halts of={rollout} />
      <div className={styles.sides}>
        <Waves waves={waves} successPercent={rollout.waveSuccessPercent} />
        <FailureBars rollout={rollout} waves={waves} />
      </div>
      <div className={styles.sides}>
        <Section title="Updates over time">
          {buckets.length > 0 ? (
            <Chart
              label="Updates over time"
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
        <RolloutFacts of={rollout} />
      </div>
      <RolloutDevices id={id} />
    </>
  );
}

/** Where it halted, and why. */
function Halts({ of: { state, reason: newest, haltedParts } }: { of: Rollout }) {
  // While parts alone are halted, the newest reason is that of one of them.
  const reason = state === "halted" || haltedParts.length === 0 ? newest : null;
  if (!reason && haltedParts.length === 0) return null;
  return (
    <ul className={styles.halts} aria-label="Where it is halted">
      {reason ? (
        <li>
          <CircleAlert size={17} aria-hidden />
          <p>
            <b>Halted.</b>{" "}
            <span className="soft">
              <Sentence of={reason} />
            </span>
          </p>
        </li>
      ) : null}
      {haltedParts.map(({ kind, orgId, platform, reason: why, haltedAt }) => (
        <li key={`${kind} ${orgId} ${platform}`}>
          <CircleAlert size={17} aria-hidden />
          <p>
            <b>
              {platform ?? (orgId ? <NameOf id={orgId} /> : "A part")} was halted <Time at={haltedAt} />.
            </b>{" "}
            <span className="soft">
              <Sentence of={why} />
            </span>
          </p>
        </li>
      ))}
    </ul>
  );
}

const RolloutFacts = ({ of: rollout }: { of: Rollout }) => (
  <Section title="Facts">
    <Facts
      of={[
        ["In flight", `${rollout.inFlight.toLocaleString()} of at most ${rollout.maxInFlight.toLocaleString()}`],
        ["Updated", rollout.succeeded.toLocaleString()],
        [
          "Failed",
          rollout.failuresBeforeResume === 0
            ? rollout.failed.toLocaleString()
            : `${rollout.failed.toLocaleString()} (${rollout.failuresBeforeResume.toLocaleString()} no longer count)`,
        ],
        ["Halts after", `${rollout.haltAfterFailures.toLocaleString()} failures, or ${rollout.haltPercent} %`],
        ["Offers left now", rollout.budget.toLocaleString()],
      ]}
    />
  </Section>
);
