import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { HeadOperations } from "../../operations/operation-buttons.tsx";
import { roleOperations } from "../../operations/roles.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import { to } from "../../parts/links.ts";
import { PageTitle } from "../../parts/page-title.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Sides } from "../../parts/sides.tsx";
import { Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";

/** One role: its permissions and its users. */
export function RolePage() {
  const id = useRecordId("/roles/$id");
  const role = useGet("/api/v1/roles/{id}", { params: { path: { id } } });
  const all = useGet("/api/v1/permissions");
  const holders = useGet("/api/v1/users", { params: { query: { role: id, limit: "1" } } });
  if (!role.data) return <RecordState title="Role" of={role} />;
  const { data } = role;
  const held = (all.data?.data ?? []).filter(({ permission }) => data.permissions.includes(permission));
  const count = holders.data?.pagination.total;
  return (
    <>
      <PageTitle
        title={data.name}
        sub={data.key === null ? undefined : "Built in: it cannot be changed."}
        actions={<HeadOperations of={data} operations={roleOperations} name={data.name} />}
      />
      <Sides
        main={
          <Section title="Permissions">
            <PlainTable columns={["Permission", "Allows", "API key scopes to grant"]}>
              {held.map(({ permission, description, keyScopes }) => (
                <tr key={permission}>
                  <th scope="row">
                    <code>{permission}</code>
                  </th>
                  <td>{description}</td>
                  <td>{keyScopes.join(", ")}</td>
                </tr>
              ))}
            </PlainTable>
          </Section>
        }
        side={
          <Section title="Facts">
            <Facts
              of={[
                ["Description", data.description || null],
                ["Scope", data.scope],
                [
                  "People who have it",
                  <Link key="holders" {...to("/people", { role: id })}>
                    {count?.toLocaleString() ?? "See them"}
                  </Link>,
                ],
                ["Changed", <Time key="changed" at={data.updatedAt} />],
              ]}
            />
          </Section>
        }
      />
    </>
  );
}
