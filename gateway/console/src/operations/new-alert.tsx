import { Plus, Siren } from "lucide-react";
import { useState } from "react";
import { api } from "../api/api.ts";
import { dataOf, useList } from "../api/queries.ts";
import { AlertFields } from "../parts/alert-fields.tsx";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { useMe } from "../parts/me.tsx";
import { NamedOptions } from "../parts/options.tsx";
import { type AlertQuery, alertFieldsOf, alertTemplates, isAlertTemplate, searchWords } from "../rules/alert-body.ts";
import type { Chosen } from "./chosen.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

/**
 * The organization whose rows an alert watches; without one, those of the user's own tenant. The filters on screen,
 * where they are the search; without them a ready-made one or a saved view is chosen.
 */
type Watched = Chosen & { query?: AlertQuery };

/** Makes an alert: of the filters on screen, or of a ready-made search or a saved view. */
function NewAlert({ of: { orgId: chosenOrgId, query }, onClose, onDone }: FormProps<Watched>) {
  const orgId = useMe().orgId ?? chosenOrgId;
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
        await onDone(`${made.name} watches the rows that are sealed from now on.`);
      }}
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
      hint="For another search, set the filters of the audit page and choose “Alert on these” there."
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

const making = {
  needs: "POST /api/v1/audit-logs/alerts",
  form: NewAlert,
  forgets: ["/api/v1/audit-logs/alerts"],
} as const;

export const newAlert: Operation<Chosen> = {
  id: "alert.make",
  verb: "New alert",
  icon: Plus,
  shown: "primary",
  ...making,
};

/** Makes an alert of the filters on screen. */
export const newAlertOfFilters: Operation<Watched> = {
  id: "alert.make-of-filters",
  verb: "Alert on these",
  icon: Siren,
  shown: "button",
  ...making,
};
