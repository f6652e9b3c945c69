import { useState } from "react";
import type { BodyOf } from "../api/queries.ts";
import { Facts, Section } from "./facts.tsx";
import forms from "./field.module.css";
import { Field } from "./field.tsx";
import { type ErrorsOf, FormDialog } from "./form-dialog.tsx";
import { Options } from "./options.tsx";
import { Time } from "./time.tsx";

export type Updates = BodyOf<"/api/v1/orgs/organizations/{id}/agent-updates">;
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

type Of = Updates["fields"][FieldName];

const effectiveText = ({ effective }: Of): string =>
  Array.isArray(effective) ? effective.map((day) => dayNames[day]).join(", ") : (effective ?? "not set");

/** What is in force, and who decided it. */
const decided = (of: Of): string =>
  `${effectiveText(of)}, by ${owners[of.source]}${of.lockedBy ? ", which locks it" : ""}`;

const inForce = (of: Of): string => `In force: ${decided(of)}.`;

/** The days and times of the window that is in force. */
function windowText({ windowDays, windowStart, windowEnd }: Updates["fields"]): string {
  const [chosen, from, until] = [windowDays.effective, windowStart.effective, windowEnd.effective];
  const on = chosen?.map((day) => dayNames[day]).join(", ") ?? "every day";
  const time = from || until ? `${from ?? "00:00"} until ${until ?? "24:00"}` : "";
  return chosen || time ? [on, time].filter(Boolean).join(", ") : "any time";
}

/** The same, and who decided them. */
function windowDecided(fields: Updates["fields"]): string {
  const { windowDays, windowStart, windowEnd } = fields;
  const sources = new Set([windowDays, windowStart, windowEnd].map(({ source }) => owners[source]));
  return `${windowText(fields)}, by ${new Intl.ListFormat("en-GB").format(sources)}`;
}

/** Who decided all of it, where that is one owner that locks nothing. */
function soleOwner(fields: Updates["fields"]): string | null {
  const all = Object.values(fields);
  const [owner, ...others] = new Set(all.map(({ source }) => owners[source]));
  return owner && others.length === 0 && !all.some(({ lockedBy }) => lockedBy) ? owner : null;
}

type AgentUpdatesProps = {
  of: Updates;
  /** Why it cannot be changed; null when it can. */
  why: string | null;
  /** Throws Failed, which is shown. */
  save(wanted: WantedUpdates): Promise<void>;
};

/** Pins, update policy and maintenance window of an organization or a partner, and the form that changes them. */
export function AgentUpdates({ of: updates, why, save }: AgentUpdatesProps) {
  const [isOpen, setOpen] = useState(false);
  const { fields, windowOpen, nextOpening } = updates;
  const sole = soleOwner(fields);
  const text = sole ? effectiveText : decided;
  return (
    <Section
      title="Agent updates"
      action={
        <>
          <p>
            {windowOpen ? "The window is open now" : "The window is closed"}
            {!windowOpen && nextOpening ? (
              <>
                , it opens <Time at={nextOpening} />
              </>
            ) : null}
          </p>
          <button
            type="button"
            aria-disabled={why !== null}
            data-tip={why ?? undefined}
            onClick={() => setOpen(why === null)}
          >
            Change updates …{why ? <span className="visually-hidden"> ({why})</span> : null}
          </button>
        </>
      }
    >
      <Facts
        of={[
          ["Agent version", text(fields.agentTarget)],
          ["Watchdog version", text(fields.watchdogTarget)],
          ["Policy", text(fields.updatePolicy)],
          ["Window", sole ? windowText(fields) : windowDecided(fields)],
          ["Newer devices", updates.allowDowngrade ? "go back to the pinned version" : "keep their version"],
          ["Decided by", sole],
        ]}
        isBrief
      />
      {isOpen ? <UpdatesForm of={updates} save={save} onClose={() => setOpen(false)} /> : null}
    </Section>
  );
}

type UpdatesFormProps = Pick<AgentUpdatesProps, "of" | "save"> & { onClose(): void };

const UpdatesForm = ({ of: updates, save, onClose }: UpdatesFormProps) => (
  <FormDialog
    title="Change agent updates"
    verb="Save"
    running="Saving …"
    send={(form) => save(wantedOf(form))}
    onClose={onClose}
  >
    {(errorsOf) => <UpdatesFields of={updates} errorsOf={errorsOf} />}
  </FormDialog>
);

type FieldsProps = { of: Updates; errorsOf: ErrorsOf };

const UpdatesFields = ({ of: updates, errorsOf }: FieldsProps) => {
  const { fields, available } = updates;
  return (
    <>
      <div className={forms.columns}>
        <Pin name="agentTarget" label="Agent" of={fields.agentTarget} versions={available.agent} errorsOf={errorsOf} />
        <Pin
          name="watchdogTarget"
          label="Watchdog"
          of={fields.watchdogTarget}
          versions={available.watchdog}
          errorsOf={errorsOf}
        />
      </div>
      <Field label="Policy" hint={inForce(fields.updatePolicy)} errors={errorsOf("updatePolicy")}>
        <select name="updatePolicy" defaultValue={fields.updatePolicy.value ?? ""}>
          <option value="">inherited</option>
          <option value="automatic">automatic</option>
          <option value="manual">manual: only when someone asks</option>
        </select>
      </Field>
      <Window of={fields} errorsOf={errorsOf} />
      <RollBack of={updates} errorsOf={errorsOf} />
    </>
  );
};

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
      <div className={forms.columns}>
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

function RollBack({ of: { allowDowngrade, rollbackNote }, errorsOf }: { of: Updates; errorsOf: ErrorsOf }) {
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
