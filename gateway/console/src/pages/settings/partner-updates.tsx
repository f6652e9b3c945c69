import { api } from "../../api/api.ts";
import { dataOf, useGet } from "../../api/queries.ts";
import { LoadedUpdates } from "../../parts/loaded-updates.tsx";

const path = "/api/v1/orgs/partners/me/agent-updates";

/** Versions and window of all organizations of the own partner; policy and window bind them. */
export const PartnerUpdates = () => (
  <LoadedUpdates
    of={useGet(path)}
    needs={`PUT ${path}`}
    put={async (body) => dataOf(api.PUT(path, { body }))}
    forgets={[path, "/api/v1/orgs/organizations/{id}/agent-updates"]}
  />
);
