import { Link } from "@tanstack/react-router";
import { useList } from "../../api/queries.ts";
import { RowName } from "../../parts/action-name.tsx";
import { Section } from "../../parts/facts.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { MoreRows } from "../../parts/more-rows.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { EmptyState, ListState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Instant } from "../../parts/time.tsx";

/** The audit rows about the device. */
export default function DeviceHistory({ id, orgId }: { id: string; orgId: string }) {
  const list = useList("/api/v1/audit-logs/logs", { params: { query: { orgId, resourceId: id } } });
  return (
    <Section
      title="Audit rows about this device"
      action={<Link {...to("/audit", { orgId, resourceId: id })}>In the audit trail</Link>}
    >
      <ListState list={list} what="Loading audit rows">
        <EmptyState title="No audit row is about this device." />
      </ListState>
      {list.rows.length > 0 ? (
        <PlainTable columns={["What", "Who", "Result", "Time"]}>
          {list.rows.map((row) => (
            <tr key={row.id}>
              <th scope="row">
                <Link {...toRecord("/audit/$id", { id: row.id }, { orgId })}>
                  <RowName of={row} />
                </Link>
              </th>
              <td>{row.user.name ?? row.user.email ?? row.actorType}</td>
              <td>
                <Status of={row.result} />
              </td>
              <td>
                <Instant at={row.timestamp} />
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
      <MoreRows of={list}>Older rows</MoreRows>
    </Section>
  );
}
