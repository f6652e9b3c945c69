import { Plus } from "lucide-react";
import { RoleForm } from "../parts/role-form.tsx";
import type { Place } from "./place.tsx";
import type { Operation } from "./record-operation.ts";

export const newRole: Operation<Place> = {
  id: "role.make",
  verb: "New role",
  needs: "POST /api/v1/roles",
  icon: Plus,
  shown: "primary",
  form: ({ of, ...props }) => <RoleForm orgId={of.orgId} {...props} />,
  forgets: ["/api/v1/roles"],
};
