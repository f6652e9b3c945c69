import { Link } from "@tanstack/react-router";
import { inviteUser } from "../../operations/invite-user.tsx";
import { nextColumn, OperationButton, RowOperations } from "../../operations/operation-buttons.tsx";
import { userOperations } from "../../operations/users.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { statusColumn } from "../../parts/status-column.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";

/** Accounts that are visible to the user. */
export function Users() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  return (
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
      actions={<OperationButton of={{ orgId }} operation={inviteUser} />}
      columns={[
        {
          id: "name",
          title: "Name",
          cell: ({ id, name }) => <Link {...toRecord("/people/$id", { id }, { orgId })}>{name}</Link>,
        },
        { id: "email", title: "E-mail", as: "note", cell: ({ email }) => email },
        { id: "role", title: "Role", width: "11rem", cell: ({ role }) => role },
        statusColumn(),
        {
          id: "mfa",
          title: "Second factor",
          width: "8rem",
          isMinor: true,
          isUsual: ({ mfaEnabled }) => mfaEnabled,
          cell: ({ mfaEnabled, status }) =>
            mfaEnabled ? "yes" : <span className={status === "active" ? "warn" : undefined}>no</span>,
        },
        {
          id: "login",
          title: "Last sign-in",
          width: "9rem",
          as: "end",
          cell: ({ lastLoginAt }) => <Time at={lastLoginAt} />,
        },
        nextColumn(me, userOperations, ({ name }) => name),
        {
          id: "actions",
          title: "Actions",
          width: "5rem",
          isEnd: true,
          as: "menu",
          cell: (user) =>
            user.id === me.id ? null : <RowOperations of={user} operations={userOperations} name={user.name} />,
        },
      ]}
      empty={<EmptyState title="No people yet." />}
    />
  );
}
