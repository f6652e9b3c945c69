import type { ItemOf, Permission } from "@muster/client";
import { api } from "../api/api.ts";
import { dataOf, useGet } from "../api/queries.ts";
import { checkedOf } from "../rules/checked.ts";
import forms from "./field.module.css";
import { Field } from "./field.tsx";
import { FormDialog } from "./form-dialog.tsx";
import { useMe } from "./me.tsx";
import { Loading } from "./states.tsx";

type Role = ItemOf<"/api/v1/roles">;

type RoleFormProps = {
  role?: Role;
  orgId?: string | undefined;
  onClose(): void;
  onDone(sentence: string): Promise<void>;
};

/** Makes a role of the chosen organization, or changes one. Users can only grant permissions that they hold. */
export function RoleForm({ role, orgId, onClose, onDone }: RoleFormProps) {
  const me = useMe();
  const all = useGet("/api/v1/permissions");
  const chosenOrgId = me.orgId ?? orgId;
  return (
    <FormDialog
      title={role ? `Change ${role.name}` : "New role"}
      verb={role ? "Save" : "Create"}
      running={role ? "Saving …" : "Creating …"}
      isDisabled={!all.data}
      onClose={onClose}
      send={async (form) => {
        const permissions = checkedOf<Permission>(form, "permissions");
        const body = { name: String(form.get("name")), description: String(form.get("description")), permissions };
        const scope = form.get("scope");
        const at = { ...(chosenOrgId ? { orgId: chosenOrgId } : {}), ...(scope ? { scope: scope as "partner" } : {}) };
        await (role
          ? dataOf(api.PATCH("/api/v1/roles/{id}", { params: { path: { id: role.id } }, body }))
          : dataOf(api.POST("/api/v1/roles", { body: { ...body, ...at } })));
        await onDone(role ? "Saved; in force at once for everyone who has it." : `${body.name} is made.`);
      }}
    >
      {(errorsOf) => (
        <>
          <p className="soft">
            {role
              ? "In force at once for everyone who has it."
              : chosenOrgId
                ? "A role of the chosen organization."
                : "A role of your own partner or platform."}
          </p>
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} defaultValue={role?.name} autoComplete="off" />
          </Field>
          <Field label="Description" errors={errorsOf("description")}>
            <input name="description" maxLength={1000} defaultValue={role?.description} autoComplete="off" />
          </Field>
          {!role && !chosenOrgId && me.scope === "partner" ? (
            <Field label="Scope" errors={errorsOf("scope")}>
              <select name="scope">
                <option value="partner">the partner</option>
                <option value="organization">its organizations</option>
              </select>
            </Field>
          ) : null}
          {all.data ? (
            <fieldset className={forms.sentences}>
              <legend>Permissions</legend>
              {all.data.data.map(({ permission, description }) => {
                const isHeld = me.permissions.includes(permission);
                return (
                  <label key={permission} title={isHeld ? undefined : "You do not hold it yourself."}>
                    <input
                      type="checkbox"
                      name="permissions"
                      value={permission}
                      disabled={!isHeld}
                      defaultChecked={role?.permissions.includes(permission) ?? false}
                    />{" "}
                    <code>{permission}</code>
                    <span className="soft">
                      {description}
                      {isHeld ? "" : " (You do not hold it yourself.)"}
                    </span>
                  </label>
                );
              })}
            </fieldset>
          ) : (
            <Loading />
          )}
          {errorsOf("permissions") ? <p role="alert">{errorsOf("permissions")?.join(" ")}</p> : null}
        </>
      )}
    </FormDialog>
  );
}
