import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { RecordPicker } from "../../parts/record-picker.tsx";
import { architectures, type Owner, type RingDraft, systems } from "../../rules/rings.ts";
import { systemName } from "../../rules/system-name.ts";
import styles from "./rollout-form.module.css";

const pickers: readonly (readonly [Owner, string, Parameters<typeof RecordPicker>[0]["path"]])[] = [
  ["partnerIds", "Partners", "/api/v1/orgs/partners"],
  ["orgIds", "Organizations", "/api/v1/orgs/organizations"],
  ["siteIds", "Sites", "/api/v1/orgs/sites"],
  ["groupIds", "Device groups", "/api/v1/device-groups"],
];

type RingFieldsProps = {
  at: number;
  ring: RingDraft;
  errors: readonly string[];
  change(ring: RingDraft): void;
  /** Takes the ring out. */
  remove(): void;
  /** Moves it before the ring above; undefined for the first. */
  raise?: (() => void) | undefined;
};

/** One ring: whose devices it includes, and which of them. */
export function RingFields({ at, ring, errors, change, remove, raise }: RingFieldsProps) {
  const set = (values: Partial<RingDraft>) => change({ ...ring, ...values });
  return (
    <fieldset className={forms.row}>
      <legend>
        Wave {at + 1}
        {ring.name ? `: ${ring.name}` : ""}
      </legend>
      {errors.length > 0 ? <p role="alert">{errors.join(" ")}</p> : null}
      <Field label="Name">
        <input required maxLength={100} value={ring.name} onChange={({ target }) => set({ name: target.value })} />
      </Field>
      <div className={forms.columns}>
        {pickers.map(([name, label, path]) => (
          <RecordPicker
            key={name}
            label={label}
            path={path}
            chosen={ring[name]}
            onChange={(ids) => set({ [name]: ids })}
          />
        ))}
      </div>
      <div className={forms.columns}>
        <Boxes legend="Systems" all={systems} titleOf={systemName} chosen={ring.os} change={(os) => set({ os })} />
        <Boxes legend="Architectures" all={architectures} chosen={ring.arch} change={(arch) => set({ arch })} />
        <Field label="Labels" hint="name=value, one per line; a device must have all.">
          <textarea
            rows={2}
            spellCheck={false}
            value={ring.labels}
            onChange={({ target }) => set({ labels: target.value })}
          />
        </Field>
        <Field label="Runs agent" hint="A range, such as >=1.2.0 <2.">
          <input
            maxLength={200}
            spellCheck={false}
            value={ring.range}
            onChange={({ target }) => set({ range: target.value })}
          />
        </Field>
      </div>
      <div>
        {raise ? (
          <button type="button" onClick={raise}>
            Move up
            <span className="visually-hidden"> wave {at + 1}</span>
          </button>
        ) : null}{" "}
        <button type="button" onClick={remove}>
          Take out
          <span className="visually-hidden"> wave {at + 1}</span>
        </button>
      </div>
    </fieldset>
  );
}

type BoxesProps<T extends string> = {
  legend: string;
  all: readonly T[];
  titleOf?(value: NoInfer<T>): string;
  chosen: readonly T[];
  change(values: T[]): void;
};

const Boxes = <T extends string>({ legend, all, titleOf, chosen, change }: BoxesProps<T>) => (
  <fieldset className={styles.boxes}>
    <legend>{legend}</legend>
    {all.map((each) => (
      <label key={each}>
        <input
          type="checkbox"
          checked={chosen.includes(each)}
          onChange={({ target }) => change(all.filter((one) => (one === each ? target.checked : chosen.includes(one))))}
        />{" "}
        {titleOf?.(each) ?? each}
      </label>
    ))}
  </fieldset>
);
