import { api } from "../api/api.ts";
import { type BodyOf, dataOf } from "../api/queries.ts";
import { FormDialog } from "../parts/form-dialog.tsx";
import { LimitFields } from "../parts/limit-fields.tsx";
import { limitsOf } from "../rules/rings.ts";
import type { FormProps } from "./record-operation.ts";

type Rollout = BodyOf<"/api/v1/agent-versions/rollouts/{id}">;

/** Widens a rollout, or changes its limits; what is unchanged is not sent. */
export function ChangeRollout({ of: rollout, onClose, onDone }: FormProps<Rollout>) {
  const params = { path: { id: rollout.id } };
  return (
    <FormDialog
      title={`Change the rollout of ${rollout.version}`}
      verb="Save"
      running="Saving …"
      onClose={onClose}
      send={async (form) => {
        const wanted = Object.entries(limitsOf(form));
        const before: Readonly<Record<string, unknown>> = rollout;
        const body = Object.fromEntries(wanted.filter(([name, value]) => before[name] !== value));
        await dataOf(api.PATCH("/api/v1/agent-versions/rollouts/{id}", { params, body }));
        await onDone("Saved; it counts from the next heartbeat on.");
      }}
    >
      {(errorsOf) => (
        <>
          <p className="soft">Waves and percentage only rise: a device that was offered the version stays included.</p>
          <LimitFields values={rollout} errorsOf={errorsOf} />
        </>
      )}
    </FormDialog>
  );
}

/** Lets a rollout go on that was paused, or that halted as a whole or in part. */
export function ResumeRollout({ of: rollout, onClose, onDone }: FormProps<Rollout>) {
  const params = { path: { id: rollout.id } };
  const counting = Math.max(0, rollout.failed - rollout.failuresBeforeResume);
  const isHalted = rollout.state === "halted" || rollout.haltedParts.length > 0;
  return (
    <FormDialog
      title={`Resume the rollout of ${rollout.version}?`}
      verb="Resume"
      running="Resuming …"
      onClose={onClose}
      send={async (form) => {
        const body = { acceptFailures: form.has("acceptFailures") };
        await dataOf(api.POST("/api/v1/agent-versions/rollouts/{id}/resume", { params, body }));
        await onDone("The rollout continues.");
      }}
    >
      {() => (
        <>
          <p>Offers continue{isHalted ? ", also where it is halted" : ""}. Find the cause of its failures first.</p>
          <label>
            <input type="checkbox" name="acceptFailures" defaultChecked={isHalted} /> Accept the{" "}
            {counting.toLocaleString()} {counting === 1 ? "failure" : "failures"} so far: they no longer count towards
            the limits
          </label>
        </>
      )}
    </FormDialog>
  );
}
