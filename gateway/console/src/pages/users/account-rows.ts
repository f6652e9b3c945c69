import { useGet } from "../../api/queries.ts";
import { useWhyNot } from "../../parts/me.tsx";
import { sessionActions } from "../../rules/session-actions.ts";

const most = "50";

/** The audit trail of an account without its sign-ins, newest first; nothing for who may not read the trail. */
export function useAccountRows({ id, orgId }: { id: string; orgId: string | null }) {
  const mayRead = useWhyNot("GET /api/v1/audit-logs/logs") === null;
  const query = {
    resourceId: id,
    ...(orgId ? { orgId } : {}),
    excludeActions: sessionActions.join(","),
    limit: most,
    skipCount: "true",
  };
  return useGet("/api/v1/audit-logs/logs", { params: { query } }, { enabled: mayRead });
}
