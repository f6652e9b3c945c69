import { Plus } from "lucide-react";
import { GroupForm } from "../parts/group-form.tsx";
import { type Chosen, inOrganization } from "./chosen.tsx";
import type { Operation } from "./record-operation.ts";

export const newGroup: Operation<Chosen> = {
  id: "group.make",
  verb: "New group",
  needs: "POST /api/v1/device-groups",
  icon: Plus,
  shown: "primary",
  form: inOrganization({ title: "New group", what: "A group" }, ({ of, ...props }) => (
    <GroupForm orgId={of.orgId} {...props} />
  )),
  forgets: ["/api/v1/device-groups"],
};
