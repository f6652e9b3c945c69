import type { ItemOf } from "@muster/client";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { Options } from "../parts/options.tsx";
import { partnerPlans, partnerStatuses, partnerTypes } from "../parts/partner-values.ts";
import { TenantFields } from "../parts/tenant-fields.tsx";
import { capOf } from "../rules/form-values.ts";
import type { FormProps } from "./record-operation.ts";

/** Changes a partner, as the platform's administrators do. */
export function ChangePartner({ of: partner, onClose, onDone }: FormProps<ItemOf<"/api/v1/orgs/partners">>) {
  return (
    <FormDialog
      title={`Change ${partner.name}`}
      verb="Save"
      running="Saving …"
      onClose={onClose}
      send={async (form) => {
        const body = {
          name: String(form.get("name")),
          slug: String(form.get("slug")),
          type: String(form.get("type")) as typeof partner.type,
          plan: String(form.get("plan")) as typeof partner.plan,
          status: String(form.get("status")) as typeof partner.status,
          maxOrganizations: capOf(form.get("maxOrganizations")),
          maxDevices: capOf(form.get("maxDevices")),
          billingEmail: String(form.get("billingEmail")) || null,
        };
        await dataOf(api.PATCH("/api/v1/orgs/partners/{id}", { params: { path: { id: partner.id } }, body }));
        await onDone("Saved.");
      }}
    >
      {(errorsOf) => (
        <>
          <TenantFields
            of={partner}
            statuses={partnerStatuses}
            types={partnerTypes}
            among="partners"
            suspended="people and keys of all its organizations are refused"
            errorsOf={errorsOf}
          />
          <Field label="Plan" errors={errorsOf("plan")}>
            <select name="plan" defaultValue={partner.plan}>
              <Options of={partnerPlans} />
            </select>
          </Field>
          <Field label="Organizations at most" hint="Empty: unlimited." errors={errorsOf("maxOrganizations")}>
            <input name="maxOrganizations" type="number" min={0} defaultValue={partner.maxOrganizations ?? ""} />
          </Field>
          <Field label="Devices at most" hint="Empty: unlimited." errors={errorsOf("maxDevices")}>
            <input name="maxDevices" type="number" min={0} defaultValue={partner.maxDevices ?? ""} />
          </Field>
          <Field label="Billing e-mail" errors={errorsOf("billingEmail")}>
            <input name="billingEmail" type="email" maxLength={255} defaultValue={partner.billingEmail ?? ""} />
          </Field>
        </>
      )}
    </FormDialog>
  );
}
