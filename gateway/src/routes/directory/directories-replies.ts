import type { Directory, DirectoryCycle, DirectoryPreset } from "@muster/proto/muster/identity/v1/directory_pb";
import { z } from "zod";
import { healthOrNull, healthOut } from "../fields/health.ts";
import { idOut, timeOf, timeOrNull, timeOut } from "../fields/schemas.ts";

export const status = z.enum(["active", "paused"]);

export const directory = z
  .object({
    id: idOut,
    orgId: idOut.nullable(),
    partnerId: idOut.nullable().meta({ description: "Null unless it is the partner's own." }),
    name: z.string(),
    preset: z.string().nullable().meta({ description: "Id of a preset." }),
    status,
    health: healthOut,
    providerId: idOut.nullable().meta({ description: "Provider through which its users sign in." }),
    defaultRoleId: idOut
      .nullable()
      .meta({ description: "Role of users whom no mapping matches; null: these have no access." }),
    scimUrl: z.url().meta({ description: "Base address for the SCIM client." }),
    tokens: z.array(
      z.object({
        id: idOut,
        prefix: z.string().meta({ description: "First characters of the token." }),
        createdAt: timeOut,
        expiresAt: timeOut
          .nullable()
          .meta({ description: "End of the grace period after a rotation; null: until revoked." }),
      }),
    ),
    lastCycle: z
      .object({
        startedAt: timeOut,
        lastAt: timeOut,
        requests: z.int(),
        refused: z.int(),
        created: z.int(),
        changed: z.int(),
        deleted: z.int(),
      })
      .nullable()
      .meta({ description: "Requests since the last pause of ten minutes; null before the first one." }),
    rolesPending: z
      .int()
      .meta({ description: "Users whose role is evaluated again after a change that concerns many; 0 when all are." }),
    createdBy: idOut,
    createdAt: timeOut,
    updatedAt: timeOut,
  })
  .meta({ id: "Directory" });

/** A directory with a token that no other reply shows. */
export const directoryWithToken = directory.extend({
  token: z.string().meta({ description: "Bearer token for the SCIM client." }),
  warning: z.string(),
});

export const directoryPreset = z.object({
  id: z.string(),
  name: z.string(),
  scim: z.boolean().meta({
    description:
      "Whether the product sends users and groups by SCIM; otherwise its groups come as claims of a sign-in.",
  }),
  guide: z.string().meta({ description: "Page below the documentation." }),
});

/** Base address of SCIM, below the public address. */
export const scimUrlOf = (publicUrl: string) => `${publicUrl}/api/v1/scim/v2`;

export function directoryOf(message: Directory | undefined, publicUrl: string): z.input<typeof directory> {
  if (!message) throw new Error("identity answered without a directory");
  return {
    id: message.id,
    orgId: message.orgId || null,
    partnerId: message.partnerId || null,
    name: message.name,
    preset: message.preset || null,
    status: status.parse(message.status),
    health: healthOrNull(message.health),
    providerId: message.providerId || null,
    defaultRoleId: message.defaultRoleId || null,
    scimUrl: scimUrlOf(publicUrl),
    tokens: message.tokens.map(({ id, prefix, createdAt, expiresAt }) => ({
      id,
      prefix,
      createdAt: timeOf(createdAt),
      expiresAt: timeOrNull(expiresAt),
    })),
    lastCycle: cycleOf(message.lastCycle),
    rolesPending: message.rolesPending,
    createdBy: message.createdBy,
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
  };
}

function cycleOf(message: DirectoryCycle | undefined) {
  if (!message) return null;
  return {
    startedAt: timeOf(message.startedAt),
    lastAt: timeOf(message.lastAt),
    requests: Number(message.requests),
    refused: Number(message.refused),
    created: Number(message.created),
    changed: Number(message.changed),
    deleted: Number(message.deleted),
  };
}

export const directoryPresetOf = ({ id, name, scim, guide }: DirectoryPreset) => ({ id, name, scim, guide });
