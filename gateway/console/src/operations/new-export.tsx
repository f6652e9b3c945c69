import { Plus } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { Options } from "../parts/options.tsx";
import { zoneName } from "../parts/zone.ts";
import { categories, results } from "../rules/audit-filters.ts";
import { endOfDay, startOfDay } from "../rules/zoned-days.ts";
import type { Chosen } from "./chosen.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

/** Starts an export of a chain: of the chosen organization, or of one's own. */
function NewExport({ of: { orgId }, onClose, onDone }: FormProps<Chosen>) {
  const zone = zoneName();
  return (
    <FormDialog
      title="New export"
      verb="Start"
      running="Starting …"
      onClose={onClose}
      send={async (form) => {
        const text = (name: string) => String(form.get(name) ?? "").trim();
        const category = categories.find((each) => each === text("category"));
        const result = results.find((each) => each === text("result"));
        const body = {
          ...(orgId ? { orgId } : {}),
          ...(text("from") ? { from: startOfDay(text("from"), zone).toISOString() } : {}),
          ...(text("to") ? { to: endOfDay(text("to"), zone).toISOString() } : {}),
          ...(text("user") ? { user: text("user") } : {}),
          ...(text("action") ? { action: text("action") } : {}),
          ...(category ? { category } : {}),
          ...(result ? { result } : {}),
        };
        await dataOf(api.POST("/api/v1/audit-logs/exports", { body }));
        await onDone("The export is queued.");
      }}
    >
      {(errorsOf) => (
        <>
          <p className="soft">
            {orgId ? "Of the chosen organization's chain." : "Of your own chain."} Rows that are sealed after its start
            are not part of it.
          </p>
          <Field label="From" hint={`Days of ${zone}; empty: from the first row.`} errors={errorsOf("from")}>
            <input name="from" type="date" />
          </Field>
          <Field label="To" errors={errorsOf("to")}>
            <input name="to" type="date" />
          </Field>
          <Field label="Actor" hint="Name or e-mail." errors={errorsOf("user")}>
            <input name="user" maxLength={255} spellCheck={false} />
          </Field>
          <Field label="Action" errors={errorsOf("action")}>
            <input name="action" maxLength={255} placeholder="device.approve" spellCheck={false} />
          </Field>
          <Field label="Category" errors={errorsOf("category")}>
            <select name="category">
              <option value="">any</option>
              <Options of={categories} />
            </select>
          </Field>
          <Field label="Result" errors={errorsOf("result")}>
            <select name="result">
              <option value="">any</option>
              <Options of={results} />
            </select>
          </Field>
        </>
      )}
    </FormDialog>
  );
}

export const newExport: Operation<Chosen> = {
  id: "export.make",
  verb: "New export",
  needs: "POST /api/v1/audit-logs/exports",
  icon: Plus,
  shown: "primary",
  form: NewExport,
  forgets: ["/api/v1/audit-logs/exports"],
};
