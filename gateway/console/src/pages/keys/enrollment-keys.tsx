import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { enrollmentKeyOperations } from "../../operations/enrollment-keys.tsx";
import { newEnrollmentKey } from "../../operations/new-enrollment-key.tsx";
import { actionsColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import type { Column } from "../../parts/column.ts";
import { EndsAt } from "../../parts/ends-at.tsx";
import { reinstalls } from "../../parts/enrollment-key-fields.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe } from "../../parts/me.tsx";
import { NameOf, organizationColumn } from "../../parts/name-of.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { useFilters } from "../../parts/use-filters.ts";

type EnrollmentKey = ItemOf<"/api/v1/enrollment-keys">;

/** Keys that agents enroll with. */
export function EnrollmentKeys() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const create = <OperationButton of={{ orgId }} operation={newEnrollmentKey} />;
  return (
    <ListPage
      title="Enrollment keys"
      section="keys"
      path="/api/v1/enrollment-keys"
      filters={["orgId", "expired"]}
      choices={[
        {
          name: "expired",
          label: "Expired",
          options: [
            ["true", "yes"],
            ["false", "no"],
          ],
        },
      ]}
      actions={create}
      columns={columns(me.scope !== "organization" && !orgId)}
      empty={
        <EmptyState title="No enrollment key yet.">
          <p>An agent enrolls with a key, which tells whose device it becomes.</p>
          {create}
        </EmptyState>
      }
    />
  );
}

/** Whether agents can still enroll with it. */
function stateOf({ expiresAt, usageCount, maxUsage }: EnrollmentKey): string {
  if (new Date(expiresAt) <= new Date()) return "expired";
  return maxUsage !== null && usageCount >= maxUsage ? "used up" : "active";
}

const columns = (isEverywhere: boolean): Column<EnrollmentKey>[] => [
  { id: "name", title: "Name", cell: ({ name }) => name },
  { id: "status", title: "Status", width: "7rem", as: "state", cell: (key) => <Status of={stateOf(key)} /> },
  ...(isEverywhere ? [organizationColumn] : []),
  {
    id: "site",
    title: "Site",
    width: "10rem",
    cell: ({ siteId }) =>
      siteId ? (
        <Link {...toRecord("/sites/$id", { id: siteId })}>
          <NameOf id={siteId} />
        </Link>
      ) : null,
  },
  {
    id: "usage",
    title: "Used",
    width: "9rem",
    isMinor: true,
    cell: ({ id, orgId, usageCount, maxUsage }) => (
      <Link {...to("/devices", { orgId, enrollmentKeyId: id })}>
        {usageCount.toLocaleString()} of {maxUsage === null ? "any number" : maxUsage.toLocaleString()}
      </Link>
    ),
  },
  {
    id: "reinstall",
    title: "Installed anew",
    width: "12rem",
    isMinor: true,
    isExtra: true,
    cell: ({ reinstall }) => reinstalls[reinstall],
  },
  {
    id: "ends",
    title: "Ends",
    width: "9rem",
    isMinor: true,
    cell: ({ expiresAt }) => <EndsAt at={expiresAt} days={1} />,
  },
  actionsColumn(enrollmentKeyOperations, (key) => key.name),
];
