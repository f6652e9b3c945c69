import type { Caller } from "@muster/kit";
import { isRoleOf } from "../new-user.ts";
import type { Owner } from "./provider.ts";

type DefaultRole = { scope: string; permissions: readonly string[]; partner_id: string | null; org_id: string | null };

/**
 * Whether the user who saved a default role may still grant it: active, unrestricted, with access to the owner,
 * entitled to create users, and holding every permission that the role has now. The role is of the owner's scope and of
 * this owner.
 */
export function mayProvision(
  by: {
    caller: Pick<Caller, "scope" | "partnerId" | "orgId" | "orgAccess" | "siteIds" | "permissions">;
    status: string;
  },
  role: DefaultRole,
  owner: Owner,
): boolean {
  const { caller } = by;
  const scope = owner.orgId === null ? "partner" : "organization";
  const isOwnRole = role.scope === scope && isRoleOf({ partnerId: role.partner_id, orgId: role.org_id }, owner);
  if (!isOwnRole || by.status !== "active" || caller.siteIds !== null) return false;
  if (!hasAccess(caller, owner)) return false;
  return ["users:write", ...role.permissions].every((permission) =>
    (caller.permissions as readonly string[]).includes(permission),
  );
}

function hasAccess(
  { scope, partnerId, orgId, orgAccess }: Pick<Caller, "scope" | "partnerId" | "orgId" | "orgAccess">,
  owner: Owner,
): boolean {
  if (scope === "system") return true;
  if (scope === "organization") return orgId !== null && orgId === owner.orgId;
  return partnerId === owner.partnerId && (orgAccess.mode === "all" || orgAccess.orgIds.includes(owner.orgId ?? ""));
}
