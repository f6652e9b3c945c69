import type { ItemOf } from "@muster/client";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { TenantFields } from "../parts/tenant-fields.tsx";
import { capOf, dayOf } from "../rules/form-values.ts";
import type { FormProps } from "./record-operation.ts";

type Organization = ItemOf<"/api/v1/orgs/organizations">;

const statuses = ["active", "trial", "suspended", "churned"] as const;
const types = ["customer", "internal"] as const;

/** Changes an organization. */
export function ChangeOrganization({ of: org, onClose, onDone }: FormProps<Organization>) {
  return (
    <FormDialog
      title={`Change ${org.name}`}
      verb="Save"
      running="Saving …"
      onClose={onClose}
      send={async (form) => {
        const body = {
          name: String(form.get("name")),
          slug: String(form.get("slug")),
          type: String(form.get("type")) as Organization["type"],
          status: String(form.get("status")) as Organization["status"],
          maxDevices: capOf(form.get("maxDevices")),
          contractStart: String(form.get("contractStart")) || null,
          contractEnd: String(form.get("contractEnd")) || null,
        };
        const params = { path: { id: org.id } };
        await dataOf(api.PATCH("/api/v1/orgs/organizations/{id}", { params, body }));
        await onDone("Saved.");
      }}
    >
      {(errorsOf) => (
        <>
          <TenantFields
            of={org}
            statuses={statuses}
            types={types}
            among="the partner's"
            suspended="people and keys are refused, devices still report"
            errorsOf={errorsOf}
          />
          <Field label="Devices at most" hint="Empty: unlimited." errors={errorsOf("maxDevices")}>
            <input name="maxDevices" type="number" min={0} max={2147483647} defaultValue={org.maxDevices ?? ""} />
          </Field>
          <Field label="Contract from" errors={errorsOf("contractStart")}>
            <input name="contractStart" type="date" defaultValue={dayOf(org.contractStart)} />
          </Field>
          <Field label="Contract until" errors={errorsOf("contractEnd")}>
            <input name="contractEnd" type="date" defaultValue={dayOf(org.contractEnd)} />
          </Field>
        </>
      )}
    </FormDialog>
  );
}
