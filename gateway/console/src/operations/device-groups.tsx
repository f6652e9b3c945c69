import type { ItemOf } from "@muster/client";
import { Pencil, Trash2 } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { GroupForm } from "../parts/group-form.tsx";
import type { Operation } from "./record-operation.ts";

type Group = ItemOf<"/api/v1/device-groups">;

const forgets = ["/api/v1/device-groups", "/api/v1/devices"] as const;

/** What can be done with a device group. */
export const groupOperations: readonly Operation<Group>[] = [
  {
    id: "group.change",
    verb: "Change",
    needs: "PATCH /api/v1/device-groups/{id}",
    icon: Pencil,
    form: ({ of: group, ...props }) => <GroupForm group={group} orgId={group.orgId} {...props} />,
    forgets,
  },
  {
    id: "group.delete",
    verb: "Delete",
    needs: "DELETE /api/v1/device-groups/{id}",
    icon: Trash2,
    tone: "danger",
    asks: {
      title: ({ name }) => `Delete ${name}?`,
      says: () => "Its devices stay; only the group is removed.",
    },
    run: async ({ id }) => void (await dataOf(api.DELETE("/api/v1/device-groups/{id}", { params: { path: { id } } }))),
    done: ({ name }) => `${name} is deleted.`,
    forgets,
  },
];
