import type { Limits } from "../rules/rings.ts";
import forms from "./field.module.css";
import { Field } from "./field.tsx";
import type { ErrorsOf } from "./form-dialog.tsx";

type LimitName = keyof Limits;
type Limit = { label: string; hint: string; min: number; max: number; step?: string };

const limits: Readonly<Record<LimitName, Limit>> = {
  percent: { label: "Percent of the devices", hint: "Of the open waves; empty: 100.", min: 0, max: 100, step: "any" },
  openRings: { label: "Open waves", hint: "From the first; empty: 1.", min: 0, max: 20 },
  waveSuccessPercent: {
    label: "Opens the next wave at",
    hint: "Percent of its devices that succeeded; empty: by hand.",
    min: 0.01,
    max: 100,
    step: "any",
  },
  maxInFlight: { label: "Updates in flight", hint: "At most, concurrently.", min: 1, max: 1_000_000 },
  haltAfterFailures: { label: "Halts after failures", hint: "This many, or the percentage.", min: 1, max: 1_000_000 },
  haltPercent: { label: "Halts after percent", hint: "Of the updates that ended.", min: 0, max: 100, step: "any" },
  soakSeconds: { label: "Soak, in seconds", hint: "So long a device must run it.", min: 0, max: 86_400 },
};

type LimitFieldsProps = {
  values: { readonly [Name in LimitName]?: number | null };
  errorsOf: ErrorsOf;
  /** Those that are shown; all without it. */
  only?: readonly LimitName[];
};

/** How wide a rollout is, and what halts it; an empty field leaves it to the platform. */
export const LimitFields = ({ values, errorsOf, only }: LimitFieldsProps) => (
  <div className={forms.columns}>
    {Object.entries(limits)
      .filter(([name]) => only === undefined || only.some((each) => each === name))
      .map(([name, { label, hint, ...bounds }]) => (
        <Field key={name} label={label} hint={hint} errors={errorsOf(name)}>
          <input name={name} type="number" {...bounds} defaultValue={shownOf(values, name)} />
        </Field>
      ))}
  </div>
);

const shownOf = (values: Readonly<Record<string, number | null | undefined>>, name: string) => values[name] ?? "";
