import type { ItemOf } from "@muster/client";
import { api } from "../api/api.ts";
import { dataOf, useGet } from "../api/queries.ts";
import { Field } from "./field.tsx";
import { FormDialog } from "./form-dialog.tsx";
import { NamedOptions } from "./options.tsx";

type GroupFormProps = {
  orgId: string;
  group?: ItemOf<"/api/v1/device-groups">;
  onClose(): void;
  onDone(sentence: string): Promise<void>;
};

/** Makes a device group of an organization, or changes one. */
export function GroupForm({ orgId, group, onClose, onDone }: GroupFormProps) {
  const sites = useGet("/api/v1/orgs/sites", { params: { query: { orgId, limit: "100" } } });
  return (
    <FormDialog
      title={group ? `Change ${group.name}` : "New group"}
      verb={group ? "Save" : "Create"}
      running={group ? "Saving …" : "Creating …"}
      isDisabled={sites.isPending}
      onClose={onClose}
      send={async (form) => {
        const body = { name: String(form.get("name")), siteId: String(form.get("siteId")) || null };
        await (group
          ? dataOf(api.PATCH("/api/v1/device-groups/{id}", { params: { path: { id: group.id } }, body }))
          : dataOf(api.POST("/api/v1/device-groups", { body: { ...body, orgId } })));
        await onDone(group ? "Saved." : `${body.name} is made.`);
      }}
    >
      {(errorsOf) => (
        <>
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} defaultValue={group?.name} autoComplete="off" />
          </Field>
          {sites.data ? (
            <Field
              label="Site"
              hint="People who are limited to a site see only its groups."
              errors={errorsOf("siteId")}
            >
              <select name="siteId" defaultValue={group?.siteId ?? ""}>
                <option value="">any of the organization</option>
                <NamedOptions of={sites.data.data} />
              </select>
            </Field>
          ) : null}
        </>
      )}
    </FormDialog>
  );
}
