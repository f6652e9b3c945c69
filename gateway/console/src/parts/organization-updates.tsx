import { api } from "../api/api.ts";
import { dataOf, useGet } from "../api/queries.ts";
import { LoadedUpdates } from "./loaded-updates.tsx";

const path = "/api/v1/orgs/organizations/{id}/agent-updates";

/** Which versions an organization's devices run, and when they install them. */
export function OrganizationUpdates({ id }: { id: string }) {
  const params = { path: { id } };
  return (
    <LoadedUpdates
      of={useGet(path, { params })}
      needs={`PUT ${path}`}
      put={async (body) => dataOf(api.PUT(path, { params, body }))}
      forgets={[path, "/api/v1/devices/{id}/update-decision"]}
    />
  );
}
