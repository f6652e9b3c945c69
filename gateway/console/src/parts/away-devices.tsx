import { Link } from "@tanstack/react-router";
import { useGet } from "../api/queries.ts";
import { awayGroups } from "../rules/away-groups.ts";
import { counted } from "../rules/counted.ts";
import { Section } from "./facts.tsx";
import { to, toRecord } from "./links.ts";
import { NameOf } from "./name-of.tsx";
import { PlainTable } from "./plain-table.tsx";
import { FailureState, Loading } from "./states.tsx";
import { Status } from "./status.tsx";
import { Time } from "./time.tsx";

const most = 6;
const readAtOnce = 100;

type AwayDevicesProps = {
  orgId: string;
  siteId?: string;
  /** Whether all of them are offline, as the page says: those that wait for approval are left. */
  areAllOffline: boolean;
};

/** Devices that are offline or wait for approval, away longest first; those that were lost together in one row. */
export function AwayDevices({ orgId, siteId, areAllOffline }: AwayDevicesProps) {
  const owner = { orgId, ...(siteId ? { siteId } : {}) };
  const status = areAllOffline ? "quarantined" : "offline,quarantined";
  const query = { ...owner, status, sort: "lastSeenAt", limit: String(readAtOnce), skipCount: "true" } as const;
  const { data, error, isPending, refetch } = useGet("/api/v1/devices", { params: { query } }, { everyMs: 60_000 });
  if (areAllOffline && (data?.data.length ?? 0) === 0) return null;
  const groups = awayGroups(data?.data ?? []);
  const isWhole = (data?.data.length ?? 0) < readAtOnce;
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
          {groups.slice(0, most).map(({ first: device, count }) => (
            <tr key={device.id}>
              <th scope="row">
                <Link {...toRecord("/devices/$id", { id: device.id }, { orgId })}>{device.hostname}</Link>
                {count > 1 ? (
                  <>
                    {" and "}
                    <Link {...to("/devices", { orgId, siteId: device.siteId ?? undefined, status: device.status })}>
                      {isWhole ? counted(count - 1, "others") : "others"}
                    </Link>
                  </>
                ) : null}
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
