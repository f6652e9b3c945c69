import { Plus } from "lucide-react";
import { SiteForm } from "../parts/site-form.tsx";
import { type Chosen, inOrganization } from "./chosen.tsx";
import type { Operation } from "./record-operation.ts";

export const newSite: Operation<Chosen> = {
  id: "site.make",
  verb: "New site",
  needs: "POST /api/v1/orgs/sites",
  icon: Plus,
  shown: "primary",
  form: inOrganization({ title: "New site", what: "A site" }, ({ of, ...props }) => (
    <SiteForm orgId={of.orgId} {...props} />
  )),
  forgets: ["/api/v1/orgs/sites"],
};
