import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { type BodyOf, dataOf, useGet } from "../../api/queries.ts";
import { DeleteRecord } from "../../parts/delete-record.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import { to } from "../../parts/links.ts";
import { Operation } from "../../parts/operation.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { RoleForm } from "./role-form.tsx";

type Role = BodyOf<"/api/v1/roles/{id}">;

/** One role: its permissions and its users. */
export function RolePage() {
  const id = useRecordId("/roles/$id");
  const params = { path: { id } };
  const role = useGet("/api/v1/roles/{id}", { params });
  const all = useGet("/api/v1/permissions");
  const holders = useGet("/api/v1/users", { params: { query: { role: id, limit: "1" } } });
  const [asking, ask] = useState<"change" | "delete" | null>(null);
  const navigate = useNavigate();
  if (!role.data) return <RecordState title="Role" of={role} />;
  const { data } = role;
  const held = (all.data?.data ?? []).filter(({ permission }) => data.permissions.includes(permission));
  const count = holders.data?.pagination.total;
  const close = () => ask(null);
  return (
    <>
      <PageTitle title={data.name} />
      <Section
        title="Facts"
        action={
          data.key === null ? (
            <div>
              <Operation name="PATCH /api/v1/roles/{id}" onClick={() => ask("change")}>
                Change …
              </Operation>{" "}
              <Operation name="DELETE /api/v1/roles/{id}" onClick={() => ask("delete")}>
                Delete …
              </Operation>
            </div>
          ) : (
            <span className="soft">Built in: it cannot be changed.</span>
          )
        }
      >
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
      <Section title="Permissions">
        <PlainTable columns={["Permission", "Allows", "API key scopes that it permits to grant"]}>
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
      <RoleQuestions data={data} asking={asking} close={close} params={params} navigate={navigate} count={count} />
    </>
  );
}

function RoleQuestions({
  data,
  asking,
  close,
  params,
  navigate,
  count,
}: {
  data: Role;
  asking: "change" | "delete" | null;
  close(): void;
  params: { path: { id: string } };
  navigate: ReturnType<typeof useNavigate>;
  count: number | null | undefined;
}) {
  return (
    <>
      {asking === "change" ? <RoleForm role={data} onClose={close} /> : null}
      {asking === "delete" ? (
        <DeleteRecord
          name={data.name}
          remove={() => dataOf(api.DELETE("/api/v1/roles/{id}", { params }))}
          forgets={["/api/v1/roles"]}
          leave={() => navigate(to("/roles", { orgId: data.orgId ?? undefined }))}
          onClose={close}
        >
          <p>
            {count ? `${count.toLocaleString()} people have it: assign another role to them first.` : "No one has it."}
          </p>
        </DeleteRecord>
      ) : null}
    </>
  );
}
