import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { inviteUser } from "../../operations/invite-user.tsx";
import { nextColumn, OperationButton, RowOperations } from "../../operations/operation-buttons.tsx";
import { policyPath, requireFactor } from "../../operations/require-factor.ts";
import { userOperations } from "../../operations/users.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { Address } from "../../parts/long-text.tsx";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { stateColumn } from "../../parts/state-column.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { accountState } from "../../rules/factor-state.ts";
import { roleName } from "../../rules/role-name.ts";
import { FactorGap } from "./factor-gap.tsx";

const factorChoices = [
  ["true", "on"],
  ["false", "none"],
] as const;

/** Accounts that are visible to the user. */
export function Users() {
  const [{ orgId, status, search, role, mfaEnabled }] = useFilters();
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
      filters={["orgId", "status", "mfaEnabled", "search", "role"]}
      labels={{ role: "Role" }}
      text={{ name: "search", label: "Name or e-mail" }}
      choices={[
        {
          name: "status",
          label: "Status",
          options: asOptions(["invited", "active", "disabled"]),
        },
        { name: "mfaEnabled", label: "Second factor", options: factorChoices },
      ]}
      notice={status || search || role || mfaEnabled ? null : <FactorGap orgId={chosenOrgId} isRequired={isRequired} />}
      toneOf={(user) => accountState(user).tone}
      actions={<OperationButton of={{ orgId }} operation={inviteUser} />}
      columns={[
        {
          id: "name",
          title: "Name",
          width: "min(20rem, 21vw)",
          hasNote: true,
          cell: ({ id, name, email }) => (
            <>
              <Link {...toRecord("/people/$id", { id }, { orgId })}>{name}</Link>
              <small data-tip={email}>
                <Address of={email} />
              </small>
            </>
          ),
        },
        { id: "role", title: "Role", width: "12rem", as: "note", cell: ({ role }) => roleName(role) },
        stateColumn({
          title: "Status",
          stateOf: accountState,
          noteOf: (user) => accountState(user).note,
          isMinor: () => true,
        }),
        {
          id: "login",
          title: "Last sign-in",
          width: "8rem",
          isMinor: true,
          cell: ({ lastLoginAt }) => <Time at={lastLoginAt} />,
        },
        // Of one organization, the policy is that of all rows: it is offered above them.
        nextColumn(me, chosenOrgId ? userOperations : [...userOperations, requireFactor], ({ name }) => name),
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
