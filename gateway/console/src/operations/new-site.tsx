import { Plus } from "lucide-react";
import { SiteForm } from "../parts/site-form.tsx";
import { inOrganization, type Place } from "./place.tsx";
import type { Operation } from "./record-operation.ts";

export const newSite: Operation<Place> = {
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
