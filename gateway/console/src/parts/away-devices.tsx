import { Link } from "@tanstack/react-router";
import { useGet } from "../api/queries.ts";
import { Section } from "./facts.tsx";
import { to, toRecord } from "./links.ts";
import { NameOf } from "./name-of.tsx";
import { PlainTable } from "./plain-table.tsx";
import { FailureState, Loading } from "./states.tsx";
import { Status } from "./status.tsx";
import { Time } from "./time.tsx";

const most = 6;

/** Devices of an organization or a site that are offline or wait for approval, those that are away longest first. */
export function AwayDevices({ orgId, siteId }: { orgId: string; siteId?: string }) {
  const owner = { orgId, ...(siteId ? { siteId } : {}) };
  const status = "offline,quarantined";
  const query = { ...owner, status, sort: "lastSeenAt", limit: String(most), skipCount: "true" } as const;
  const { data, error, isPending, refetch } = useGet("/api/v1/devices", { params: { query } }, { everyMs: 60_000 });
  return (
    <Section
      title="Devices that need a look"
      action={<Link {...to("/devices", { ...owner, status })}>All of them</Link>}
    >
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      {isPending ? <Loading /> : null}
      {data?.data.length === 0 ? <p className="soft">All devices are online.</p> : null}
      {data && data.data.length > 0 ? (
        <PlainTable columns={["Host", "Status", ...(siteId ? [] : ["Site"]), "Last seen"]}>
          {data.data.map((device) => (
            <tr key={device.id}>
              <th scope="row">
                <Link {...toRecord("/devices/$id", { id: device.id }, { orgId })}>{device.hostname}</Link>
              </th>
              <td>
                <Status of={device.status} />
              </td>
              {siteId ? null : (
                <td>{device.siteId ? <NameOf id={device.siteId} /> : <span className="soft">none</span>}</td>
              )}
              <td>
                <Time at={device.lastSeenAt} />
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
    </Section>
  );
}
