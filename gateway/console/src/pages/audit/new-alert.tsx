import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget, useList } from "../../api/queries.ts";
import { AlertFields } from "../../parts/alert-fields.tsx";
import { Field } from "../../parts/field.tsx";
import { FormDialog } from "../../parts/form-dialog.tsx";
import { NamedOptions } from "../../parts/options.tsx";
import { toast } from "../../parts/said.ts";
import {
  type AlertQuery,
  alertFieldsOf,
  alertTemplates,
  isAlertTemplate,
  searchWords,
} from "../../rules/alert-body.ts";

type NewAlertProps = {
  /** The organization whose rows it watches; without one, those of the user's own tenant. */
  orgId: string | undefined;
  /** The filters on screen, where they are the search; without them a ready-made one or a saved view is chosen. */
  query?: AlertQuery;
  onClose(): void;
};

/** Makes an alert: of the filters on screen, or of a ready-made search or a saved view. */
export function NewAlert({ orgId, query, onClose }: NewAlertProps) {
  const forget = useForget();
  const [chosen, choose] = useState("new-administrator");
  return (
    <FormDialog
      title="New alert"
      verb="Create"
      running="Creating …"
      onClose={onClose}
      send={async (form) => {
        const { threshold, ...fields } = alertFieldsOf(form);
        const search = query ? { query } : isAlertTemplate(chosen) ? { template: chosen } : { viewId: chosen };
        const body = { ...(orgId ? { orgId } : {}), ...fields, ...search, ...(threshold ? { threshold } : {}) };
        const made = await dataOf(api.POST("/api/v1/audit-logs/alerts", { body }));
        await forget("/api/v1/audit-logs/alerts");
        return `${made.name} watches the rows that are sealed from now on.`;
      }}
      onSent={toast}
    >
      {(errorsOf) => (
        <>
          {query ? (
            <p className="soft">
              It looks for the filters on screen, without their times: {searchWords({ template: null, query })}.
            </p>
          ) : (
            <Searches chosen={chosen} choose={choose} errors={errorsOf("template") ?? errorsOf("viewId")} />
          )}
          <AlertFields errorsOf={errorsOf} />
        </>
      )}
    </FormDialog>
  );
}

type SearchesProps = { chosen: string; choose(search: string): void; errors: readonly string[] | undefined };

/** Ready-made searches, and the saved views of the audit trail. */
function Searches({ chosen, choose, errors }: SearchesProps) {
  const views = useList("/api/v1/saved-views", { params: { query: { resource: "audit-logs" } } });
  return (
    <Field
      label="What it looks for"
      hint="For another search, set the filters of the audit page and choose Alert there."
      errors={errors}
    >
      <select value={chosen} onChange={({ target }) => choose(target.value)}>
        <optgroup label="Ready-made">
          {Object.entries(alertTemplates).map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </optgroup>
        {views.rows.length > 0 ? (
          <optgroup label="Saved views">
            <NamedOptions of={views.rows} />
          </optgroup>
        ) : null}
      </select>
    </Field>
  );
}
