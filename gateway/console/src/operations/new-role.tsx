import { Plus } from "lucide-react";
import { RoleForm } from "../parts/role-form.tsx";
import type { Chosen } from "./chosen.tsx";
import type { Operation } from "./record-operation.ts";

export const newRole: Operation<Chosen> = {
  id: "role.make",
  verb: "New role",
  needs: "POST /api/v1/roles",
  icon: Plus,
  shown: "primary",
  form: ({ of, ...props }) => <RoleForm orgId={of.orgId} {...props} />,
  forgets: ["/api/v1/roles"],
};
