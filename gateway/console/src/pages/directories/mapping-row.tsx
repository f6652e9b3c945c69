import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { NamedOptions } from "../../parts/options.tsx";
import { RecordPicker } from "../../parts/record-picker.tsx";
import { Status } from "../../parts/status.tsx";

type Named = { id: string; name: string };

/** A row of the mapping while it is edited: of a group, or of a claim. */
export type RowDraft = {
  key: string;
  groupId: string | null;
  claim: string | null;
  roleId: string;
  siteIds: readonly string[];
  /** Whether its author has lost what its role grants: it changes nothing. */
  isInert: boolean;
};

type MappingRowProps = {
  at: number;
  row: RowDraft;
  groups: readonly Named[];
  roles: readonly Named[];
  errors: readonly string[];
  isDisabled: boolean;
  change(row: RowDraft): void;
  remove(): void;
  raise?: (() => void) | undefined;
};

/** One row: whom it matches, and the role and sites that it gives them. */
export function MappingRow({ at, row, groups, roles, errors, isDisabled, change, remove, raise }: MappingRowProps) {
  const number = at + 1;
  return (
    <fieldset className={forms.row} disabled={isDisabled}>
      <legend>
        Row {number} {row.isInert ? <Status of="inert" tone="warn" /> : null}
      </legend>
      {errors.length > 0 ? <p role="alert">{errors.join(" ")}</p> : null}
      {row.isInert ? (
        <p className="soft">
          Whoever saved it no longer holds what its role grants: it changes nothing until it is saved again.
        </p>
      ) : null}
      <div className={forms.columns}>
        {row.groupId === null ? (
          <Field label="Value of the groups claim">
            <input
              required
              maxLength={255}
              spellCheck={false}
              value={row.claim ?? ""}
              onChange={({ target }) => change({ ...row, claim: target.value })}
            />
          </Field>
        ) : (
          <Field label="Group">
            <select value={row.groupId} onChange={({ target }) => change({ ...row, groupId: target.value })}>
              <NamedOptions of={groups} />
            </select>
          </Field>
        )}
        <Field label="Role">
          <select required value={row.roleId} onChange={({ target }) => change({ ...row, roleId: target.value })}>
            <NamedOptions of={roles} />
          </select>
        </Field>
        <RecordPicker
          label="Limited to sites"
          path="/api/v1/orgs/sites"
          chosen={row.siteIds}
          onChange={(siteIds) => change({ ...row, siteIds })}
        />
      </div>
      <div className={forms.inline}>
        {raise ? (
          <button type="button" onClick={raise}>
            Move up
            <span className="visually-hidden"> row {number}</span>
          </button>
        ) : null}
        <button type="button" onClick={remove}>
          Take out
          <span className="visually-hidden"> row {number}</span>
        </button>
      </div>
    </fieldset>
  );
}
