import type { ItemOf } from "@muster/client";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { useAssignableRoles } from "../api/use-assignable-roles.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { NamedOptions } from "../parts/options.tsx";
import { accountAccess } from "../rules/account-access.ts";
import { AccessFields } from "./access-fields.tsx";
import type { FormProps } from "./record-operation.ts";

/** Changes role, organizations and sites of a user. */
export function ChangeUser({ of: user, onClose, onDone }: FormProps<ItemOf<"/api/v1/users">>) {
  const roles = useAssignableRoles(user.scope, user.orgId);
  return (
    <FormDialog
      title={`Change ${user.name}`}
      verb="Save"
      running="Saving …"
      isDisabled={!roles}
      onClose={onClose}
      send={async (form) => {
        const body = {
          name: String(form.get("name")),
          roleId: String(form.get("roleId")),
          ...accountAccess(form),
        };
        await dataOf(api.PATCH("/api/v1/users/{id}", { params: { path: { id: user.id } }, body }));
        await onDone("Saved; in force at once, everywhere.");
      }}
    >
      {(errorsOf) => (
        <>
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} defaultValue={user.name} autoComplete="off" />
          </Field>
          {roles ? (
            <Field label="Role" errors={errorsOf("roleId")}>
              <select name="roleId" required defaultValue={user.roleId}>
                <NamedOptions of={roles} />
              </select>
            </Field>
          ) : null}
          <AccessFields of={user} errorsOf={errorsOf} />
        </>
      )}
    </FormDialog>
  );
}
