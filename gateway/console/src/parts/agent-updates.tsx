import { type FormEvent, useState } from "react";
import type { BodyOf } from "../api/queries.ts";
import { Section } from "./facts.tsx";
import forms from "./field.module.css";
import { Field } from "./field.tsx";
import type { ErrorsOf } from "./form-dialog.tsx";
import { Options } from "./options.tsx";
import { SaveRow } from "./save-row.tsx";
import { FailureState } from "./states.tsx";
import { Time } from "./time.tsx";
import { useWrite } from "./use-write.ts";

type Updates = BodyOf<"/api/v1/orgs/organizations/{id}/agent-updates">;
type FieldName = keyof Updates["fields"];
type Day = NonNullable<Updates["fields"]["windowDays"]["value"]>[number];

const days: readonly Day[] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const dayNames: Readonly<Record<Day, string>> = {
  mon: "Monday",
  tue: "Tuesday",
  wed: "Wednesday",
  thu: "Thursday",
  fri: "Friday",
  sat: "Saturday",
  sun: "Sunday",
};
const owners = { organization: "the organization", partner: "the partner", default: "the platform" } as const;

/** What the API takes: every field is replaced. */
export type WantedUpdates = {
  agentTarget: string | null;
  watchdogTarget: string | null;
  updatePolicy: "automatic" | "manual" | null;
  windowDays: Day[] | null;
  windowStart: string | null;
  windowEnd: string | null;
  allowDowngrade: boolean;
  rollbackNote: string | null;
};

/** What is in force, and who decided it. */
function inForce({ effective, source, lockedBy }: Updates["fields"][FieldName]): string {
  const value = Array.isArray(effective) ? effective.map((day) => dayNames[day]).join(", ") : (effective ?? "not set");
  return `In force: ${value}, by ${owners[source]}${lockedBy ? ", which locks it" : ""}.`;
}

type AgentUpdatesProps = {
  of: Updates;
  /** Why it cannot be changed; null when it can. */
  why: string | null;
  /** Throws Failed, which is shown. */
  save(wanted: WantedUpdates): Promise<void>;
};

/** Pins, update policy and maintenance window of an organization or a partner. */
export function AgentUpdates({ of: updates, why, save }: AgentUpdatesProps) {
  const write = useWrite();
  const { fields, available, windowOpen, nextOpening } = updates;
  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    await write.run(() => save(wantedOf(form)));
  }
  return (
    <Section
      title="Agent updates"
      action={
        <p>
          {windowOpen ? "The window is open now" : "The window is closed"}
          {!windowOpen && nextOpening ? (
            <>
              , it opens <Time at={nextOpening} />
            </>
          ) : null}
        </p>
      }
    >
      <form className={forms.form} data-size="wide" onSubmit={send}>
        {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
        <fieldset className={forms.plain} data-size="wide" disabled={why !== null}>
          <div className={forms.thirds}>
            <Pin name="agentTarget" label="Agent" of={fields.agentTarget} versions={available.agent} {...write} />
            <Pin
              name="watchdogTarget"
              label="Watchdog"
              of={fields.watchdogTarget}
              versions={available.watchdog}
              {...write}
            />
            <Field label="Policy" hint={inForce(fields.updatePolicy)} errors={write.errorsOf("updatePolicy")}>
              <select name="updatePolicy" defaultValue={fields.updatePolicy.value ?? ""}>
                <option value="">inherited</option>
                <option value="automatic">automatic</option>
                <option value="manual">manual: only when someone asks</option>
              </select>
            </Field>
          </div>
          <Window of={fields} errorsOf={write.errorsOf} />
          <WayBack of={updates} errorsOf={write.errorsOf} />
        </fieldset>
        <SaveRow why={why} write={write} />
      </form>
    </Section>
  );
}

function wantedOf(form: FormData): WantedUpdates {
  const text = (name: string) => String(form.get(name) ?? "").trim() || null;
  const policy = text("updatePolicy");
  const chosen = days.filter((day) => form.getAll("windowDays").includes(day));
  const allowDowngrade = form.has("allowDowngrade");
  return {
    agentTarget: text("agentTarget"),
    watchdogTarget: text("watchdogTarget"),
    updatePolicy: policy === "automatic" || policy === "manual" ? policy : null,
    windowDays: chosen.length > 0 ? chosen : null,
    windowStart: text("windowStart"),
    windowEnd: text("windowEnd"),
    allowDowngrade,
    rollbackNote: allowDowngrade ? text("rollbackNote") : null,
  };
}

type PinProps = {
  name: "agentTarget" | "watchdogTarget";
  label: string;
  of: Updates["fields"]["agentTarget"];
  versions: readonly string[];
  errorsOf: ErrorsOf;
};

/** The version that devices are kept at; one that is no longer offered stays, so that saving does not unpin it. */
const Pin = ({ name, label, of, versions, errorsOf }: PinProps) => (
  <Field label={`${label} version`} hint={inForce(of)} errors={errorsOf(name)}>
    <select name={name} defaultValue={of.value ?? ""}>
      <option value="">inherited</option>
      <option value="latest">latest: the promoted one</option>
      <Options of={[...new Set([...(of.value && of.value !== "latest" ? [of.value] : []), ...versions])]} />
    </select>
  </Field>
);

function Window({ of: fields, errorsOf }: { of: Updates["fields"]; errorsOf: ErrorsOf }) {
  return (
    <>
      <fieldset className={forms.days}>
        <legend>Maintenance window</legend>
        {days.map((day) => (
          <label key={day}>
            <input
              type="checkbox"
              name="windowDays"
              value={day}
              defaultChecked={fields.windowDays.value?.includes(day) ?? false}
            />{" "}
            {dayNames[day]}
          </label>
        ))}
      </fieldset>
      <p className="soft">{errorsOf("windowDays")?.join(" ") ?? inForce(fields.windowDays)}</p>
      <div className={forms.thirds}>
        <Field label="From" hint={inForce(fields.windowStart)} errors={errorsOf("windowStart")}>
          <input name="windowStart" type="time" defaultValue={fields.windowStart.value ?? ""} />
        </Field>
        <Field label="Until" hint={inForce(fields.windowEnd)} errors={errorsOf("windowEnd")}>
          <input name="windowEnd" type="time" defaultValue={fields.windowEnd.value ?? ""} />
        </Field>
      </div>
    </>
  );
}

function WayBack({ of: { allowDowngrade, rollbackNote }, errorsOf }: { of: Updates; errorsOf: ErrorsOf }) {
  const [isBack, setBack] = useState(allowDowngrade);
  return (
    <>
      <label>
        <input
          type="checkbox"
          name="allowDowngrade"
          checked={isBack}
          onChange={({ target }) => setBack(target.checked)}
        />{" "}
        Devices that run a newer version go back to the pinned one
      </label>
      {isBack ? (
        <Field
          label="Rollback note"
          hint="As muster-release rollback signs it: agents go back only with it."
          errors={errorsOf("rollbackNote")}
        >
          <textarea
            name="rollbackNote"
            required
            rows={4}
            maxLength={65_536}
            spellCheck={false}
            defaultValue={rollbackNote ?? ""}
          />
        </Field>
      ) : null}
    </>
  );
}
