import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { toRecord } from "../../parts/links.ts";
import { FailureState } from "../../parts/states.tsx";

/** Polls every two seconds until a device of the organization is online. */
export function AwaitDevice({ orgId }: { orgId: string }) {
  const query = { orgId, status: "online", limit: "1", skipCount: "true" } as const;
  const { data, error } = useGet("/api/v1/devices", { params: { query } }, { everyMs: 2_000 });
  const device = data?.data[0];
  if (error) return <FailureState failure={error.failure} />;
  return (
    <p role="status">
      {device ? (
        <>
          <strong>{device.hostname} is online.</strong>{" "}
          <Link {...toRecord("/devices/$id", { id: device.id })}>Open it</Link>
        </>
      ) : (
        "Waiting for its first heartbeat …"
      )}
    </p>
  );
}
