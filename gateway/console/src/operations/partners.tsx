import type { ItemOf } from "@muster/client";
import { Pencil, Trash2 } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf, useGet } from "../api/queries.ts";
import { ChangePartner } from "./change-partner.tsx";
import type { Operation } from "./record-operation.ts";

type Partner = ItemOf<"/api/v1/orgs/partners">;

const forgets = ["/api/v1/orgs"] as const;

/** What can be done with a partner. */
export const partnerOperations: readonly Operation<Partner>[] = [
  {
    id: "partner.change",
    verb: "Change",
    needs: "PATCH /api/v1/orgs/partners/{id}",
    icon: Pencil,
    shown: "button",
    form: ChangePartner,
    forgets,
  },
  {
    id: "partner.delete",
    verb: "Delete",
    needs: "DELETE /api/v1/orgs/partners/{id}",
    icon: Trash2,
    tone: "danger",
    asks: {
      title: ({ name }) => `Delete ${name}?`,
      says: ({ id }) => <WhatGoes partnerId={id} />,
      typed: ({ name }) => name,
    },
    run: async ({ id }) => void (await dataOf(api.DELETE("/api/v1/orgs/partners/{id}", { params: { path: { id } } }))),
    done: ({ name }) => `${name} is deleted.`,
    forgets,
    leaves: "/partners",
  },
];

/** How much goes with the partner. */
function WhatGoes({ partnerId }: { partnerId: string }) {
  const { data } = useGet("/api/v1/orgs/organizations", { params: { query: { partnerId, limit: "1" } } });
  return (
    <>
      It goes with {data?.pagination.total?.toLocaleString() ?? "all of its"} organizations: their devices and keys are
      refused, their people cannot sign in. Audit trails stay.
    </>
  );
}
