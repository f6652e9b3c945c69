import type { ItemOf } from "@muster/client";
import { Pencil, Trash2 } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf, useGet } from "../api/queries.ts";
import { RoleForm } from "../parts/role-form.tsx";
import type { Operation } from "./record-operation.ts";

type Role = ItemOf<"/api/v1/roles">;

const isOwn = ({ key }: Role) => key === null;
const forgets = ["/api/v1/roles", "/api/v1/users"] as const;

/** What can be done with a role; nothing with a built-in one. */
export const roleOperations: readonly Operation<Role>[] = [
  {
    id: "role.change",
    verb: "Change",
    needs: "PATCH /api/v1/roles/{id}",
    icon: Pencil,
    shown: "button",
    isOffered: isOwn,
    form: ({ of: role, ...props }) => <RoleForm role={role} {...props} />,
    forgets,
  },
  {
    id: "role.delete",
    verb: "Delete",
    needs: "DELETE /api/v1/roles/{id}",
    icon: Trash2,
    tone: "danger",
    isOffered: isOwn,
    asks: {
      title: ({ name }) => `Delete ${name}?`,
      says: ({ id }) => <Holders roleId={id} />,
      typed: ({ name }) => name,
    },
    run: async ({ id }) => void (await dataOf(api.DELETE("/api/v1/roles/{id}", { params: { path: { id } } }))),
    done: ({ name }) => `${name} is deleted.`,
    forgets,
    leaves: "/roles",
  },
];

/** Who has a role that is to go. */
function Holders({ roleId }: { roleId: string }) {
  const { data } = useGet("/api/v1/users", { params: { query: { role: roleId, limit: "1" } } });
  const count = data?.pagination.total;
  return count ? `${count.toLocaleString()} people have it: assign another role to them first.` : "No one has it.";
}
