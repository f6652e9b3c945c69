import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { HeadOperations } from "../../operations/operation-buttons.tsx";
import { roleOperations } from "../../operations/roles.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { PageTitle } from "../../parts/page-title.tsx";
import plain from "../../parts/plain-table.module.css";
import { PlainTable } from "../../parts/plain-table.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Sides } from "../../parts/sides.tsx";
import { FailureState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";

const shownHolders = "8";

/** One role: its permissions and its users. */
export function RolePage() {
  const id = useRecordId("/roles/$id");
  const role = useGet("/api/v1/roles/{id}", { params: { path: { id } } });
  const all = useGet("/api/v1/permissions");
  if (!role.data) return <RecordState title="Role" of={role} />;
  const { data } = role;
  const held = (all.data?.data ?? []).filter(({ permission }) => data.permissions.includes(permission));
  return (
    <>
      <PageTitle
        title={data.name}
        sub={data.description || (data.key === null ? undefined : "Built in: it cannot be changed.")}
        actions={<HeadOperations of={data} operations={roleOperations} name={data.name} />}
      />
      <Sides
        main={
          <Section title="Permissions">
            <PlainTable columns={["Allows", "Key scopes to grant"]}>
              {held.map(({ permission, description, keyScopes }) => (
                <tr key={permission}>
                  <th scope="row">
                    {description.replace(/\.$/, "")}
                    <small>
                      <code>{permission}</code>
                    </small>
                  </th>
                  <td>{keyScopes.join(", ")}</td>
                </tr>
              ))}
            </PlainTable>
          </Section>
        }
        side={
          <>
            <Holders of={id} />
            <Section title="Facts">
              <Facts
                of={[
                  ["Scope", data.scope],
                  ["Whose", data.key === null ? null : "built in"],
                  ["Changed", data.key === null ? <Time key="changed" at={data.updatedAt} /> : null],
                ]}
                isBrief
              />
            </Section>
          </>
        }
      />
    </>
  );
}

/** The first people who have a role, and where all of them are. */
function Holders({ of: role }: { of: string }) {
  const { data, error, refetch } = useGet("/api/v1/users", { params: { query: { role, limit: shownHolders } } });
  const count = data?.pagination.total ?? data?.data.length;
  return (
    <Section
      title="People who have it"
      action={count ? <Link {...to("/people", { role })}>All {count.toLocaleString()}</Link> : null}
    >
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      {count === 0 ? <p className="soft">Nobody yet.</p> : null}
      {count ? (
        <PlainTable columns={["Name", "Last sign-in"]}>
          {data?.data.map(({ id, name, lastLoginAt }) => (
            <tr key={id}>
              <th scope="row" className={plain.name}>
                <Link {...toRecord("/people/$id", { id })}>{name}</Link>
              </th>
              <td className={plain.end}>
                <Time at={lastLoginAt} />
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
    </Section>
  );
}
