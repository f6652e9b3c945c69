import { api } from "../api/api.ts";
import { dataOf, useForget, useGet } from "../api/queries.ts";
import { AgentUpdates } from "./agent-updates.tsx";
import { useWhyNot } from "./me.tsx";
import { toast } from "./said.ts";
import { FailureState, Loading } from "./states.tsx";

const path = "/api/v1/orgs/organizations/{id}/agent-updates";

/** Which versions an organization's devices run, and when they install them. */
export function OrganizationUpdates({ id }: { id: string }) {
  const params = { path: { id } };
  const updates = useGet(path, { params });
  const why = useWhyNot(`PUT ${path}`);
  const forget = useForget();
  if (updates.error) return <FailureState failure={updates.error.failure} onRetry={() => void updates.refetch()} />;
  if (!updates.data) return <Loading what="Loading agent updates" />;
  return (
    <AgentUpdates
      of={updates.data}
      why={why}
      save={async (body) => {
        await dataOf(api.PUT(path, { params, body }));
        toast("Saved; it counts from the next heartbeat on.");
        await forget(path, "/api/v1/devices/{id}/update-decision");
      }}
    />
  );
}
