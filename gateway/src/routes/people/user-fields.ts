import { z } from "zod";
import { id, idOut, timeOut } from "../fields/schemas.ts";

export const scope = z.enum(["system", "partner", "organization"]);
export const orgAccess = z.enum(["all", "selected", "none"]);
export const userStatus = z.enum(["invited", "active", "disabled"]);

export const user = z
  .object({
    id: idOut,
    email: z.string(),
    emailProven: z.boolean().meta({
      description: "The address is this account's alone; one that is not proven yields to its owner.",
    }),
    name: z.string(),
    department: z.string().nullable(),
    scope,
    partnerId: idOut.nullable(),
    orgId: idOut.nullable(),
    roleId: idOut,
    role: z.string().meta({ description: "Key of a seeded role, or name of another one." }),
    orgAccess: orgAccess.nullable().meta({
      description: "Organizations of the partner that the user can access; null unless the scope is partner.",
    }),
    orgIds: z.array(idOut).meta({ description: "Organizations granted when `orgAccess` is `selected`." }),
    siteIds: z
      .array(idOut)
      .nullable()
      .meta({ description: "Sites that the user is limited to; null when not limited." }),
    status: userStatus,
    managedBy: z
      .object({ id: idOut, name: z.string() })
      .nullable()
      .meta({ description: "Directory that manages the user, who is not changed by hand then." }),
    mfaEnabled: z.boolean(),
    lastLoginAt: timeOut.nullable(),
    createdAt: timeOut,
    updatedAt: timeOut,
  })
  .meta({ id: "UserRecord" });

export const siteIdsIn = z
  .array(id)
  .min(1)
  .max(500)
  .nullish()
  .meta({ description: "Sites that the user is limited to; null when not limited." });
export const inviteUrl = z
  .string()
  .optional()
  .meta({
    description:
      "Carries the invitation's token; single use, 7 days, shown only once. Absent where mail carries it: only in " +
      "installations without `SMTP_URL`, or with `INVITE_URL_IN_REPLY`.",
  });

export const userPaths = {
  name: "name",
  roleId: "role_id",
  orgAccess: "org_access",
  orgIds: "org_ids",
  siteIds: "site_ids",
};
