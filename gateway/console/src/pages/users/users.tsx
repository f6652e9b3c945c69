import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { inviteUser } from "../../operations/invite-user.tsx";
import { nextColumn, OperationButton, RowOperations } from "../../operations/operation-buttons.tsx";
import { policyPath, requireFactor } from "../../operations/require-factor.ts";
import { userOperations } from "../../operations/users.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { statusColumn } from "../../parts/status-column.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { factorState, lacksFactor } from "../../rules/factor-state.ts";
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
      segments={
        status || search || role || mfaEnabled ? null : <FactorGap orgId={chosenOrgId} isRequired={isRequired} />
      }
      toneOf={(user) => (user.status === "invited" || lacksFactor(user) ? "warn" : "good")}
      actions={<OperationButton of={{ orgId }} operation={inviteUser} />}
      columns={[
        {
          id: "name",
          title: "Name",
          width: "11rem",
          cell: ({ id, name }) => <Link {...toRecord("/people/$id", { id }, { orgId })}>{name}</Link>,
        },
        { id: "email", title: "E-mail", as: "note", cell: ({ email }) => email },
        { id: "role", title: "Role", width: "8.5rem", cell: ({ role }) => role },
        statusColumn(),
        {
          id: "mfa",
          title: "Second factor",
          width: "8rem",
          isMinor: true,
          isUsual: ({ mfaEnabled }) => mfaEnabled,
          cell: (user) => {
            const { word, tone } = factorState(user);
            return tone === "off" ? <span className="soft">{word}</span> : <Status of={word} tone={tone} />;
          },
        },
        {
          id: "login",
          title: "Last sign-in",
          width: "7.5rem",
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
