import type { User } from "@muster/proto/muster/identity/v1/user_pb";
import type { z } from "zod";
import { timeOf, timeOrNull } from "../fields/schemas.ts";
import { orgAccess, scope, type user, userStatus } from "./user-fields.ts";

export const inviteUrlOf = (publicUrl: string, token: string) =>
  token === "" ? {} : { inviteUrl: `${publicUrl}/accept-invite#token=${encodeURIComponent(token)}` };

export function userOf(message: User | undefined): z.input<typeof user> {
  if (!message) throw new Error("identity answered without a user");
  const level = scope.parse(message.scope);
  return {
    id: message.id,
    email: message.email,
    emailProven: message.emailProven,
    name: message.name,
    department: message.department || null,
    scope: level,
    partnerId: message.partnerId || null,
    orgId: message.orgId || null,
    roleId: message.roleId,
    role: message.role,
    orgAccess: level === "partner" ? orgAccess.parse(message.orgAccess) : null,
    orgIds: message.orgIds,
    siteIds: message.siteRestricted ? message.siteIds : null,
    status: userStatus.parse(message.status),
    managedBy: message.managedBy ? { id: message.managedBy.id, name: message.managedBy.name } : null,
    mfaEnabled: message.mfaEnabled,
    lastLoginAt: timeOrNull(message.lastLoginAt),
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
  };
}
