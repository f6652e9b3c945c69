import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { ShieldAlert } from "lucide-react";
import { useGet } from "../../api/queries.ts";
import { inviteUser } from "../../operations/invite-user.tsx";
import { nextColumn, OperationButton, RowOperations } from "../../operations/operation-buttons.tsx";
import type { Operation } from "../../operations/record-operation.ts";
import { userOperations } from "../../operations/users.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { statusColumn } from "../../parts/status-column.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";

type User = ItemOf<"/api/v1/users">;
const policyPath = "/api/v1/orgs/organizations/{id}/sign-in-policy";

/** Whether a user signs in without a second factor. */
const lacksFactor = ({ status, mfaEnabled }: User) => status === "active" && !mfaEnabled;

/** What a user waits for who has no second factor: that the organization's sign-in policy requires one. */
const requireFactor: Operation<User> = {
  id: "user.require-factor",
  verb: "Require factor",
  needs: `PUT ${policyPath}`,
  icon: ShieldAlert,
  isOffered: ({ orgId }) => orgId !== null,
  isNext: lacksFactor,
  leads: ({ orgId }) => to("/settings/sign-in", { orgId: orgId ?? undefined }),
  forgets: [],
};

/** Accounts that are visible to the user. */
export function Users() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const chosenOrgId = me.orgId ?? orgId;
  const mayRead = useWhyNot(`GET ${policyPath}`) === null;
  const policy = useGet(
    policyPath,
    { params: { path: { id: chosenOrgId ?? "" } } },
    { enabled: mayRead && chosenOrgId !== undefined },
  );
  const isRequired = policy.data?.effective.requireSecondFactor;
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
      toneOf={(user) => (user.status === "invited" || lacksFactor(user) ? "warn" : "good")}
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
          cell: (user) => (user.mfaEnabled ? "yes" : lacksFactor(user) ? <Status of="missing" tone="warn" /> : "no"),
        },
        {
          id: "login",
          title: "Last sign-in",
          width: "9rem",
          as: "end",
          cell: ({ lastLoginAt }) => <Time at={lastLoginAt} />,
        },
        nextColumn(me, isRequired ? userOperations : [...userOperations, requireFactor], ({ name }) => name),
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
