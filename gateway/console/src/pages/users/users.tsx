import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget } from "../../api/queries.ts";
import { useAssignableRoles } from "../../api/use-assignable-roles.ts";
import { RowOperations } from "../../operations/operation-buttons.tsx";
import { userOperations } from "../../operations/users.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { FormActions } from "../../parts/form-actions.tsx";
import { type Invited, InviteLink } from "../../parts/invite-link.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { Operation } from "../../parts/operation.tsx";
import { NamedOptions } from "../../parts/options.tsx";
import { EmptyState, FailureState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { useWrite } from "../../parts/use-write.ts";

/** Accounts that are visible to the user. */
export function Users() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const [isInviting, invite] = useState(false);
  return (
    <>
      <ListPage
        title="People"
        section="users"
        path="/api/v1/users"
        filters={["orgId", "status", "search", "role"]}
        labels={{ role: "Role" }}
        text={{ name: "search", label: "Name or e-mail" }}
        choices={[
          {
            name: "status",
            label: "Status",
            options: asOptions(["invited", "active", "disabled"]),
          },
        ]}
        actions={
          <Operation name="POST /api/v1/users" isPrimary onClick={() => invite(true)}>
            Invite
          </Operation>
        }
        columns={[
          {
            id: "name",
            title: "Name",
            cell: ({ id, name }) => <Link {...toRecord("/people/$id", { id }, { orgId })}>{name}</Link>,
          },
          { id: "email", title: "E-mail", cell: ({ email }) => email },
          { id: "role", title: "Role", width: "11rem", isMinor: true, cell: ({ role }) => role },
          { id: "status", title: "Status", width: "9.5rem", as: "state", cell: ({ status }) => <Status of={status} /> },
          {
            id: "mfa",
            title: "Second factor",
            width: "8rem",
            isMinor: true,
            cell: ({ mfaEnabled }) => (mfaEnabled ? "yes" : "no"),
          },
          {
            id: "login",
            title: "Last sign-in",
            width: "9rem",
            isMinor: true,
            cell: ({ lastLoginAt }) => <Time at={lastLoginAt} />,
          },
          {
            id: "actions",
            title: "Actions",
            width: "5rem",
            isEnd: true,
            as: "end",
            cell: (user) =>
              user.id === me.id ? null : <RowOperations of={user} operations={userOperations} name={user.name} />,
          },
        ]}
        empty={<EmptyState title="No people yet." />}
      />
      {isInviting ? <Invite onClose={() => invite(false)} /> : null}
    </>
  );
}

function Invite({ onClose }: { onClose(): void }) {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const write = useWrite();
  const forget = useForget();
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
    await forget("/api/v1/users");
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
