import { Plus } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf, useGet } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { useMe } from "../parts/me.tsx";
import { NamedOptions } from "../parts/options.tsx";
import { slugOf } from "../rules/slug.ts";
import type { Chosen } from "./chosen.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

/** Makes an organization; the platform's administrators choose its partner. */
function NewOrganization({ onClose, onDone }: FormProps<Chosen>) {
  const me = useMe();
  const isSystem = me.scope === "system";
  const partners = useGet("/api/v1/orgs/partners", { params: { query: { limit: "100" } } }, { enabled: isSystem });
  return (
    <FormDialog
      title="New organization"
      verb="Create"
      running="Creating …"
      isDisabled={isSystem && !partners.data}
      onClose={onClose}
      send={async (form) => {
        const name = String(form.get("name"));
        const partnerId = form.get("partnerId");
        const body = { name, slug: slugOf(name), ...(partnerId ? { partnerId: String(partnerId) } : {}) };
        await dataOf(api.POST("/api/v1/orgs/organizations", { body }));
        await onDone(`${name} is made.`);
      }}
    >
      {(errorsOf) => (
        <>
          {isSystem ? (
            <Field label="Partner" errors={errorsOf("partnerId")}>
              <select name="partnerId" required>
                <NamedOptions of={partners.data?.data ?? []} />
              </select>
            </Field>
          ) : null}
          <Field label="Name" errors={errorsOf("name") ?? errorsOf("slug")}>
            <input name="name" required maxLength={100} />
          </Field>
        </>
      )}
    </FormDialog>
  );
}

export const newOrganization: Operation<Chosen> = {
  id: "organization.make",
  verb: "New organization",
  alsoCalled: ["New customer"],
  needs: "POST /api/v1/orgs/organizations",
  icon: Plus,
  shown: "primary",
  form: NewOrganization,
  forgets: ["/api/v1/orgs"],
};
