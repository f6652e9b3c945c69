import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { type BodyOf, dataOf, useForget, useGet, useList } from "../../api/queries.ts";
import { BarChart } from "../../parts/bar-chart.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import { Operation } from "../../parts/operation.tsx";
import { Options } from "../../parts/options.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { EmptyState, ListState, Said } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Instant, Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";

type ProgressBody = BodyOf<"/api/v1/agent-versions/rollouts/{id}/progress">;
type Rollout = ProgressBody["rollout"];

type Change = "pause" | "resume" | "complete" | "cancel";

const changes: Readonly<Record<Change, { verb: string; says: string; done: string }>> = {
  pause: {
    verb: "Pause",
    says: "No further device is offered the version. Updates in progress continue.",
    done: "The rollout is paused.",
  },
  resume: {
    verb: "Resume",
    says: "Offers continue. Failures so far no longer count towards the threshold.",
    done: "The rollout continues.",
  },
  complete: {
    verb: "Complete",
    says: "The version becomes the target of the whole fleet.",
    done: "The rollout is completed.",
  },
  cancel: {
    verb: "Cancel it",
    says: "No further device is offered the version, permanently.",
    done: "The rollout is cancelled.",
  },
};

/** One rollout: how far it is, how fast, what failed, and what can be done. */
export function RolloutPage() {
  const id = useRecordId();
  const params = { path: { id } };
  const progress = useGet("/api/v1/agent-versions/rollouts/{id}/progress", { params }, { everyMs: 5_000 });
  const [asking, ask] = useState<Change | null>(null);
  const [said, say] = useState<string | null>(null);
  const forget = useForget();
  if (!progress.data) return <RecordState title="Rollout" of={progress} />;
  const { rollout, buckets, expectedEnd } = progress.data;
  const isOver = rollout.state === "completed" || rollout.state === "cancelled";
  const isStopped = rollout.state === "paused" || rollout.state === "halted";
  const offered: Change[] = isOver
    ? []
    : [isStopped ? "resume" : "pause", ...(rollout.kind === "staged" ? (["complete", "cancel"] as const) : [])];
  return (
    <>
      <PageTitle title={`${rollout.component} ${rollout.version}`} status={rollout.state} />
      <p>
        <Link to="/releases/rollouts">All rollouts</Link>
      </p>
      <Said>{said}</Said>
      {rollout.reason ? <p role="note">Halted: {rollout.reason}</p> : null}
      <Progress rollout={rollout} offered={offered} ask={ask} buckets={buckets} expectedEnd={expectedEnd} />
      <Attempts id={id} />
      {asking ? (
        <Confirm
          title={`${changes[asking].verb} the rollout of ${rollout.version}?`}
          verb={changes[asking].verb}
          onClose={() => ask(null)}
          action={async () => {
            if (asking === "resume") {
              const body = { acceptFailures: rollout.state === "halted" };
              await dataOf(api.POST("/api/v1/agent-versions/rollouts/{id}/resume", { params, body }));
            } else await dataOf(api.POST(`/api/v1/agent-versions/rollouts/{id}/${asking}`, { params }));
            say(changes[asking].done);
            await forget("/api/v1/agent-versions");
          }}
        >
          <p>{changes[asking].says}</p>
        </Confirm>
      ) : null}
    </>
  );
}

function Progress({
  rollout,
  offered,
  ask,
  buckets,
  expectedEnd,
}: {
  rollout: Rollout;
  offered: readonly Change[];
  ask(change: Change): void;
  buckets: ProgressBody["buckets"];
  expectedEnd: ProgressBody["expectedEnd"];
}) {
  return (
    <Section
      title="Progress"
      action={
        <div>
          {offered.map((change) => (
            <span key={change}>
              <Operation name={`POST /api/v1/agent-versions/rollouts/{id}/${change}`} onClick={() => ask(change)}>
                {changes[change].verb} …
              </Operation>{" "}
            </span>
          ))}
        </div>
      }
    >
      <Facts
        of={[
          ["Kind", rollout.kind],
          ["Share of the devices", `${rollout.percent} %`],
          ["In flight", `${rollout.inFlight.toLocaleString()} of at most ${rollout.maxInFlight.toLocaleString()}`],
          ["Updated", rollout.succeeded.toLocaleString()],
          [
            "Failed",
            `${rollout.failed.toLocaleString()} (${rollout.failuresBeforeResume.toLocaleString()} no longer count)`,
          ],
          ["Halts after", `${rollout.haltAfterFailures.toLocaleString()} failures, or ${rollout.haltPercent} %`],
          ["Offers left now", rollout.budget.toLocaleString()],
          ["Expected end of updates in flight", expectedEnd ? <Time key="end" at={expectedEnd} /> : null],
        ]}
      />
      {buckets.length > 0 ? (
        <BarChart
          label="Updates over time"
          series={[
            { name: "Updated", tone: "good" },
            { name: "Failed", tone: "bad" },
            { name: "Offered", tone: "quiet" },
          ]}
          points={buckets.map(({ at, succeeded, failed, offered: started }) => ({
            at,
            values: [succeeded, failed, started],
          }))}
        />
      ) : (
        <p className="soft">Nothing has been offered yet.</p>
      )}
    </Section>
  );
}

const states = ["offered", "returned", "succeeded", "failed", "cancelled", "deferred"] as const;

function Attempts({ id }: { id: string }) {
  const [state, setState] = useState("");
  const list = useList(
    "/api/v1/agent-versions/rollouts/{id}/devices",
    { params: { path: { id }, query: { state } } },
    { everyMs: 10_000 },
  );
  return (
    <Section
      title="Devices"
      action={
        <label>
          State{" "}
          <select value={state} onChange={(event) => setState(event.target.value)}>
            <option value="">all</option>
            <Options of={states} />
          </select>
        </label>
      }
    >
      <ListState list={list} what="Loading devices">
        <EmptyState title={state ? "No device is in this state." : "No device has been offered it yet."} />
      </ListState>
      {list.rows.length > 0 ? (
        <PlainTable columns={["Device", "State", "Reason", "Offered"]}>
          {list.rows.map((attempt) => (
            <tr key={attempt.id}>
              <td>
                <Link to="/devices/$id" params={{ id: attempt.deviceId }}>
                  {attempt.deviceId}
                </Link>
              </td>
              <td>
                <Status of={attempt.state} />
              </td>
              <td>{attempt.reason}</td>
              <td>
                <Instant at={attempt.offeredAt} />
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
      {list.hasMore ? (
        <div>
          <button type="button" disabled={list.isLoadingMore} onClick={() => void list.loadMore()}>
            More devices
          </button>
        </div>
      ) : null}
    </Section>
  );
}
