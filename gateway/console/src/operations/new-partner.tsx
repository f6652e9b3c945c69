import { Plus } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { Options } from "../parts/options.tsx";
import { partnerPlans, partnerTypes } from "../parts/partner-values.ts";
import { slugOf } from "../rules/slug.ts";
import type { Chosen } from "./chosen.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

/** Makes a partner, as the platform's administrators do. */
const NewPartner = ({ onClose, onDone }: FormProps<Chosen>) => (
  <FormDialog
    title="New partner"
    verb="Create"
    running="Creating …"
    onClose={onClose}
    send={async (form) => {
      const name = String(form.get("name"));
      const body = {
        name,
        slug: slugOf(name),
        type: String(form.get("type")) as (typeof partnerTypes)[number],
        plan: String(form.get("plan")) as (typeof partnerPlans)[number],
      };
      await dataOf(api.POST("/api/v1/orgs/partners", { body }));
      await onDone(`${name} is made.`);
    }}
  >
    {(errorsOf) => (
      <>
        <Field label="Name" errors={errorsOf("name") ?? errorsOf("slug")}>
          <input name="name" required maxLength={100} autoComplete="off" />
        </Field>
        <Field label="Type" errors={errorsOf("type")}>
          <select name="type">
            <Options of={partnerTypes} />
          </select>
        </Field>
        <Field label="Plan" errors={errorsOf("plan")}>
          <select name="plan">
            <Options of={partnerPlans} />
          </select>
        </Field>
      </>
    )}
  </FormDialog>
);

export const newPartner: Operation<Chosen> = {
  id: "partner.make",
  verb: "New partner",
  needs: "POST /api/v1/orgs/partners",
  icon: Plus,
  shown: "primary",
  form: NewPartner,
  forgets: ["/api/v1/orgs"],
};
