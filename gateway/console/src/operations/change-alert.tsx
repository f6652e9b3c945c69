import type { ItemOf } from "@muster/client";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { AlertFields } from "../parts/alert-fields.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { alertFieldsOf, searchWords } from "../rules/alert-body.ts";
import type { FormProps } from "./record-operation.ts";

/** Changes name, threshold and recipients of an alert; what it looks for stays. */
export function ChangeAlert({ of: alert, onClose, onDone }: FormProps<ItemOf<"/api/v1/audit-logs/alerts">>) {
  const params = { path: { id: alert.id } };
  return (
    <FormDialog
      title={`Change ${alert.name}`}
      verb="Save"
      running="Saving …"
      onClose={onClose}
      send={async (form) => {
        await dataOf(api.PATCH("/api/v1/audit-logs/alerts/{id}", { params, body: alertFieldsOf(form) }));
        await onDone("Saved; the alert fires in your name from now on.");
      }}
    >
      {(errorsOf) => (
        <>
          <p className="soft">It looks for: {searchWords(alert)}.</p>
          <AlertFields of={alert} errorsOf={errorsOf} />
        </>
      )}
    </FormDialog>
  );
}
