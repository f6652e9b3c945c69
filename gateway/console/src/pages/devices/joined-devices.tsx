import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { toRecord } from "../../parts/links.ts";
import { PlainTable } from "../../parts/plain-table.tsx";
import { FailureState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { systemName } from "../../rules/system-name.ts";

type JoinedDevicesProps = { keyId: string; maxUsage: number | null };

/** The devices that enrolled with a key, polled every two seconds. */
export function JoinedDevices({ keyId, maxUsage }: JoinedDevicesProps) {
  const query = { enrollmentKeyId: keyId, limit: "100" };
  const { data, error, refetch } = useGet("/api/v1/devices", { params: { query } }, { everyMs: 2_000 });
  const count = data?.data.length ?? 0;
  return (
    <>
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      <p role="status">
        {count.toLocaleString()} of {maxUsage?.toLocaleString() ?? "any number"}
        {maxUsage !== null && count >= maxUsage ? ": the key is used up." : "; waiting for the next …"}
      </p>
      {data && count > 0 ? (
        <PlainTable columns={["Machine", "State", "Joined"]}>
          {data.data.map(({ id, hostname, status, os, arch, createdAt }) => (
            <tr key={id}>
              <th scope="row">
                <Link {...toRecord("/devices/$id", { id })}>{hostname}</Link>
                <div className="soft">
                  {systemName(os)} {arch}
                </div>
              </th>
              <td>
                <Status of={status} />
              </td>
              <td>
                <Time at={createdAt} />
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
    </>
  );
}
