import { api } from "../../api/api.ts";
import { dataOf, useForget, useGet } from "../../api/queries.ts";
import { AgentUpdates } from "../../parts/agent-updates.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import { toast } from "../../parts/said.ts";
import { FailureState, Loading } from "../../parts/states.tsx";

const path = "/api/v1/orgs/partners/me/agent-updates";

/** Versions and window of all organizations of the own partner; policy and window bind them. */
export function PartnerUpdates() {
  const updates = useGet(path);
  const why = useWhyNot(`PUT ${path}`);
  const forget = useForget();
  if (updates.error) return <FailureState failure={updates.error.failure} onRetry={() => void updates.refetch()} />;
  if (!updates.data) return <Loading what="Loading agent updates" />;
  return (
    <AgentUpdates
      of={updates.data}
      why={why}
      save={async (body) => {
        await dataOf(api.PUT(path, { body }));
        toast("Saved; it counts from the next heartbeat on.");
        await forget(path, "/api/v1/orgs/organizations/{id}/agent-updates");
      }}
    />
  );
}
