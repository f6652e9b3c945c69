import { UserRoundPlus } from "lucide-react";
import { useState } from "react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { useAssignableRoles } from "../api/use-assignable-roles.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { type Invited, InviteLink } from "../parts/invite-link.tsx";
import { useMe } from "../parts/me.tsx";
import { NamedOptions } from "../parts/options.tsx";
import { accountAccess } from "../rules/account-access.ts";
import { AccessFields } from "./access-fields.tsx";
import type { Chosen } from "./chosen.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

const into = {
  organization: "Into the chosen organization.",
  partner: "Into your partner.",
  system: "As a platform administrator.",
} as const;

/** Invites a person into the chosen organization, or into the user's own tenant. */
function Invite({ of: { orgId }, onClose, onDone }: FormProps<Chosen>) {
  const me = useMe();
  const chosenOrgId = me.orgId ?? orgId;
  const scope = chosenOrgId ? "organization" : me.scope;
  const roles = useAssignableRoles(scope, chosenOrgId);
  const [invited, setInvited] = useState<Invited | null>(null);
  if (invited) return <InviteLink to={invited} onClose={onClose} />;
  const unlimited = { orgId: chosenOrgId ?? null, orgAccess: null, orgIds: [], siteIds: null };
  return (
    <FormDialog
      title="Invite a person"
      verb="Invite"
      running="Inviting …"
      isDisabled={!roles}
      isKeptOpen
      onClose={onClose}
      send={async (form) => {
        const body = {
          email: String(form.get("email")),
          name: String(form.get("name")),
          roleId: String(form.get("roleId")),
          ...(chosenOrgId ? { orgId: chosenOrgId } : {}),
          ...accountAccess(form),
        };
        setInvited(await dataOf(api.POST("/api/v1/users", { body })));
        await onDone();
      }}
    >
      {(errorsOf) => (
        <>
          <p className="soft">{into[scope]}</p>
          <Field label="E-mail" errors={errorsOf("email")}>
            <input name="email" type="email" required maxLength={255} />
          </Field>
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} />
          </Field>
          <Field label="Role" errors={errorsOf("roleId")}>
            <select name="roleId" required>
              <NamedOptions of={roles ?? []} />
            </select>
          </Field>
          <AccessFields of={{ scope, ...unlimited }} errorsOf={errorsOf} />
        </>
      )}
    </FormDialog>
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
