import type { Caller } from "@muster/kit";
import { isRoleOf } from "../new-user.ts";
import type { Place } from "./provider.ts";

type DefaultRole = { scope: string; permissions: readonly string[]; partner_id: string | null; org_id: string | null };

/**
 * Whether the user who saved a default role may still grant it: active, unrestricted, with the place in reach, entitled
 * to create users, and holding every permission that the role has now. The role is of scope organization and of this
 * place.
 */
export function mayProvision(
  by: {
    caller: Pick<Caller, "scope" | "partnerId" | "orgId" | "orgAccess" | "siteIds" | "permissions">;
    status: string;
  },
  role: DefaultRole,
  place: Place,
): boolean {
  const { caller } = by;
  const isOfPlace =
    role.scope === "organization" && isRoleOf({ partnerId: role.partner_id, orgId: role.org_id }, place);
  if (!isOfPlace || by.status !== "active" || caller.siteIds !== null) return false;
  if (!reaches(caller, place)) return false;
  return ["users:write", ...role.permissions].every((permission) =>
    (caller.permissions as readonly string[]).includes(permission),
  );
}

function reaches(
  { scope, partnerId, orgId, orgAccess }: Pick<Caller, "scope" | "partnerId" | "orgId" | "orgAccess">,
  place: Place,
): boolean {
  if (scope === "system") return true;
  if (scope === "organization") return orgId !== null && orgId === place.orgId;
  return partnerId === place.partnerId && (orgAccess.mode === "all" || orgAccess.orgIds.includes(place.orgId ?? ""));
}
