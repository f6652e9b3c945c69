import type { ItemOf } from "@muster/client";
import { ClockArrowUp, Pencil, Trash2 } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf, useGet } from "../api/queries.ts";
import { toRecord } from "../parts/links.ts";
import { ChangeOrganization } from "./change-org.tsx";
import type { Operation } from "./record-operation.ts";

type Organization = ItemOf<"/api/v1/orgs/organizations">;

const forgets = ["/api/v1/orgs"] as const;

/** What can be done with an organization. */
export const organizationOperations: readonly Operation<Organization>[] = [
  {
    id: "organization.change",
    verb: "Change",
    needs: "PATCH /api/v1/orgs/organizations/{id}",
    icon: Pencil,
    shown: "button",
    form: ChangeOrganization,
    forgets,
  },
  {
    id: "organization.updates",
    verb: "Agent updates",
    needs: "PUT /api/v1/orgs/organizations/{id}/agent-updates",
    icon: ClockArrowUp,
    isOnPage: true,
    leads: ({ id }) => toRecord("/orgs/$id", { id }, { orgId: id }),
    forgets: [],
  },
  {
    id: "organization.delete",
    verb: "Delete",
    needs: "DELETE /api/v1/orgs/organizations/{id}",
    icon: Trash2,
    tone: "danger",
    asks: {
      title: ({ name }) => `Delete ${name}?`,
      says: ({ id }) => <WhatGoes orgId={id} />,
      typed: ({ name }) => name,
    },
    run: async ({ id }) =>
      void (await dataOf(api.DELETE("/api/v1/orgs/organizations/{id}", { params: { path: { id } } }))),
    done: ({ name }) => `${name} is deleted.`,
    forgets,
    leaves: "/orgs",
  },
];

/** How much is refused once the organization is gone. */
function WhatGoes({ orgId }: { orgId: string }) {
  const devices = useGet("/api/v1/devices", { params: { query: { orgId, limit: "1" } } });
  const keys = useGet("/api/v1/api-keys", { params: { query: { orgId, status: "active", limit: "1" } } });
  return (
    <>
      {devices.data?.pagination.total?.toLocaleString() ?? "Its"} devices and{" "}
      {keys.data?.pagination.total?.toLocaleString() ?? "its"} active keys are refused from then on, and its people
      cannot sign in. Its audit trail stays.
    </>
  );
}
