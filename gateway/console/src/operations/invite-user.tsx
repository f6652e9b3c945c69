import { UserRoundPlus } from "lucide-react";
import { type FormEvent, useState } from "react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { useAssignableRoles } from "../api/use-assignable-roles.ts";
import { Dialog } from "../parts/dialog.tsx";
import forms from "../parts/field.module.css";
import { Field } from "../parts/field.tsx";
import { FormActions } from "../parts/form-actions.tsx";
import { type Invited, InviteLink } from "../parts/invite-link.tsx";
import { useMe } from "../parts/me.tsx";
import { NamedOptions } from "../parts/options.tsx";
import { FailureState } from "../parts/states.tsx";
import { useWrite } from "../parts/use-write.ts";
import type { Chosen } from "./chosen.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

/** Invites a person into the chosen organization, or into the user's own tenant. */
function Invite({ of: { orgId }, onClose, onDone }: FormProps<Chosen>) {
  const me = useMe();
  const write = useWrite();
  const chosenOrgId = me.orgId ?? orgId;
  const scope = chosenOrgId ? "organization" : me.scope;
  const roles = useAssignableRoles(scope, chosenOrgId);
  const [invited, setInvited] = useState<Invited | null>(null);

  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const body = {
      email: String(form.get("email")),
      name: String(form.get("name")),
      roleId: String(form.get("roleId")),
      ...(chosenOrgId ? { orgId: chosenOrgId } : {}),
      ...(scope === "partner" ? { orgAccess: "all" as const } : {}),
    };
    const made = await write.run(() => dataOf(api.POST("/api/v1/users", { body })));
    if (made === null) return;
    setInvited(made);
    await onDone();
  }

  if (invited) {
    return <InviteLink to={invited} onClose={onClose} />;
  }
  return (
    <Dialog title="Invite a person" onClose={onClose}>
      <form className={forms.form} onSubmit={send}>
        <p className="soft">
          {scope === "organization"
            ? "Into the chosen organization."
            : scope === "partner"
              ? "Into your partner, for all its organizations."
              : "As a platform administrator."}
        </p>
        {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
        <Field label="E-mail" errors={write.errorsOf("email")}>
          <input name="email" type="email" required maxLength={255} />
        </Field>
        <Field label="Name" errors={write.errorsOf("name")}>
          <input name="name" required maxLength={255} />
        </Field>
        <Field label="Role" errors={write.errorsOf("roleId")}>
          <select name="roleId" required>
            <NamedOptions of={roles ?? []} />
          </select>
        </Field>
        <FormActions onCancel={onClose} isRunning={write.isRunning} isDisabled={!roles} running="Inviting …">
          Invite
        </FormActions>
      </form>
    </Dialog>
  );
}

export const inviteUser: Operation<Chosen> = {
  id: "user.make",
  verb: "Invite a person",
  alsoCalled: ["Invite", "New person"],
  needs: "POST /api/v1/users",
  icon: UserRoundPlus,
  shown: "primary",
  form: Invite,
  forgets: ["/api/v1/users"],
};
