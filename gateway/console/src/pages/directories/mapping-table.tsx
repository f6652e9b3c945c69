import type { BodyOf } from "../../api/queries.ts";
import { NameOf } from "../../parts/name-of.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { RoleLink } from "../../parts/role-link.tsx";
import { Status } from "../../parts/status.tsx";
import { unmappedGroups } from "../../rules/unmapped-groups.ts";

type Row = BodyOf<"/api/v1/directories/{id}/mappings">["data"][number];
type Group = BodyOf<"/api/v1/directories/{id}/groups">["data"][number];
type MappingTableProps = { of: readonly Row[]; groups: readonly Group[] };

/** The mapping in its order, and below it the groups that give no role. */
export function MappingTable({ of: rows, groups }: MappingTableProps) {
  const members = new Map(groups.map(({ id, members }) => [id, members]));
  const isLimited = rows.some(({ siteIds }) => siteIds !== null);
  return (
    <PlainTable columns={["Group", "People", "Role", ...(isLimited ? ["Sites"] : [])]}>
      {rows.map((row, at) => (
        <tr key={row.id}>
          <th scope="row">
            {at + 1}. {row.groupName ?? row.claim} {row.groupId === null ? <span className="soft">claim</span> : null}
          </th>
          <td className="number">{row.groupId === null ? null : members.get(row.groupId)?.toLocaleString()}</td>
          <td>
            <RoleLink id={row.roleId} /> {row.inert ? <Status of="inert" tone="warn" /> : null}
          </td>
          {isLimited ? (
            <td>
              <Sites of={row.siteIds} />
            </td>
          ) : null}
        </tr>
      ))}
      {unmappedGroups(groups, rows).map(({ id, name, members: count }) => (
        <tr key={id}>
          <th scope="row">{name}</th>
          <td className="number">{count.toLocaleString()}</td>
          <td>
            <span className="soft">not mapped</span>
          </td>
          {isLimited ? <td /> : null}
        </tr>
      ))}
    </PlainTable>
  );
}

/** The sites that a row limits people to. */
const Sites = ({ of: siteIds }: { of: readonly string[] | null }) =>
  siteIds === null ? (
    <span className="soft">all</span>
  ) : (
    siteIds.map((siteId, at) => (
      <span key={siteId}>
        {at > 0 ? ", " : ""}
        <NameOf id={siteId} />
      </span>
    ))
  );
