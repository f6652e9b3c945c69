import type { ItemOf } from "@muster/client";
import { ShieldAlert } from "lucide-react";
import { to } from "../parts/links.ts";
import { lacksFactor } from "../rules/factor-state.ts";
import type { Operation } from "./record-operation.ts";

export const policyPath = "/api/v1/orgs/organizations/{id}/sign-in-policy";

/** What a user waits for who has no second factor: that the organization's sign-in policy requires one. */
export const requireFactor: Operation<ItemOf<"/api/v1/users">> = {
  id: "user.require-factor",
  verb: "Require factor",
  needs: `PUT ${policyPath}`,
  icon: ShieldAlert,
  isOffered: ({ orgId }) => orgId !== null,
  isNext: lacksFactor,
  leads: ({ orgId }) => to("/settings/sign-in", { orgId: orgId ?? undefined }),
  forgets: [],
};
