import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget } from "../../api/queries.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { to } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import { RowAction } from "../../parts/row-action.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";

/** Keys that agents enroll with. */
export function EnrollmentKeys() {
  const why = useWhyNot("DELETE /api/v1/enrollment-keys/{id}");
  const forget = useForget();
  const [chosen, choose] = useState<{ id: string; name: string } | null>(null);
  return (
    <>
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
        actions={
          <Link {...to("/welcome")} className="button" data-weight="primary">
            New enrollment key
          </Link>
        }
        columns={[
          { id: "name", title: "Name", cell: ({ name }) => name },
          {
            id: "usage",
            title: "Used",
            width: "9rem",
            cell: ({ usageCount, maxUsage }) => `${usageCount} of ${maxUsage === null ? "any number" : maxUsage}`,
          },
          { id: "ends", title: "Ends", width: "10rem", cell: ({ expiresAt }) => <Time at={expiresAt} /> },
          {
            id: "made",
            title: "Created",
            width: "10rem",
            isMinor: true,
            cell: ({ createdAt }) => <Time at={createdAt} />,
          },
          {
            id: "actions",
            title: "Actions",
            width: "7rem",
            cell: ({ id, name }) =>
              why === null ? (
                <RowAction of={name} onClick={() => choose({ id, name })}>
                  Delete
                </RowAction>
              ) : null,
          },
        ]}
        empty={
          <EmptyState title="No enrollment key yet.">
            <Link {...to("/welcome")} className="button" data-weight="primary">
              Bring the first device online
            </Link>
          </EmptyState>
        }
      />
      {chosen ? (
        <Confirm
          title={`Delete ${chosen.name}?`}
          verb="Delete"
          onClose={() => choose(null)}
          action={async () => {
            await dataOf(api.DELETE("/api/v1/enrollment-keys/{id}", { params: { path: { id: chosen.id } } }));
            await forget("/api/v1/enrollment-keys");
          }}
        >
          <p>No further agent can enroll with it. Devices that enrolled with it are unaffected.</p>
        </Confirm>
      ) : null}
    </>
  );
}
