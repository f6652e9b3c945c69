import { z } from "zod";
import { arch, os } from "../fields/agent-builds.ts";
import { id, idOut, timeOut } from "../fields/schemas.ts";
import { component, rolloutState as states } from "./agent-versions.ts";

const ids = z.array(id).max(1_000).optional();

const criteria = {
  labels: z.record(z.string().min(1).max(63), z.string().max(255)).optional(),
  os: z.array(os).max(3).optional(),
  arch: z.array(arch).max(3).optional(),
  agentVersionRange: z
    .string()
    .max(200)
    .nullish()
    .meta({ description: "As node-semver reads ranges.", example: ">=1.2.0 <2" }),
};
export const ringIn = z
  .object({ name: z.string().min(1).max(100), partnerIds: ids, orgIds: ids, siteIds: ids, groupIds: ids, ...criteria })
  .meta({
    description:
      "Includes the devices of all these partners, organizations, sites and groups (of all owners, when none is named) that have all labels, " +
      "one of the systems and architectures, and an agent version in the range.",
  });
const idsOut = z.array(idOut);
export const ringOut = z.object({
  name: z.string(),
  partnerIds: idsOut,
  orgIds: idsOut,
  siteIds: idsOut,
  groupIds: idsOut,
  labels: z.record(z.string(), z.string()),
  os: z.array(os),
  arch: z.array(arch),
  agentVersionRange: z.string().nullable(),
});

export const percent = z.number().min(0).max(100);
export const limits = {
  percent: percent
    .optional()
    .meta({ description: "Percent of the devices; a higher percentage includes all devices of a lower one." }),
  openRings: z.int().min(0).max(20).optional().meta({ description: "Number of rings included, from the first." }),
  maxInFlight: z
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .meta({ description: "Devices that may update at the same time." }),
  haltAfterFailures: z.int().min(1).max(1_000_000).optional(),
  haltPercent: percent.optional().meta({
    description:
      "Percent of the ended updates that may fail. The rollout, or the organization or system on which they fail, halts when the share is above it beyond doubt, from three failures on; at the latest beyond the larger of both limits.",
  }),
  soakSeconds: z
    .int()
    .min(0)
    .max(86_400)
    .optional()
    .meta({ description: "Seconds for which a device must run the new version." }),
  waveSuccessPercent: z.number().min(0.01).max(100).optional().meta({
    description:
      "Percent of the devices of the open rings, as counted when the rollout was created, after whose success the next ring opens by itself.",
  }),
};

const haltedPart = z.object({
  kind: z.enum(["organization", "platform"]),
  orgId: idOut.nullable(),
  platform: z
    .string()
    .nullable()
    .meta({ description: "Operating system and architecture, such as `linux/amd64` or `linux/amd64/musl`." }),
  succeeded: z.int(),
  failed: z.int(),
  reason: z.string(),
  haltedAt: timeOut,
});

export const wave = z.object({
  name: z.string(),
  isOpen: z.boolean(),
  devices: z.int().meta({
    description: "Devices that no ring before it includes, as counted when the rollout was created.",
  }),
  offered: z
    .int()
    .meta({ description: "Devices that were offered the version; the other counts are of the newest offer of each." }),
  inFlight: z.int(),
  succeeded: z.int(),
  failed: z.int(),
});

export const rollout = z
  .object({
    id: idOut,
    versionId: idOut,
    partnerId: idOut
      .nullable()
      .meta({ description: "Whose it is: it includes only this partner's devices. Null: the platform's." }),
    component,
    version: z.string(),
    kind: z.enum(["guard", "staged"]).meta({ description: "Every version has a guard, for promotions and pins." }),
    state: states,
    rings: z.array(ringOut).meta({
      description:
        "The partners, organizations, sites and groups of a ring are shown to system callers only, and of its own rollouts to a partner.",
    }),
    openRings: z.int(),
    percent: z.number(),
    maxInFlight: z.int(),
    haltAfterFailures: z.int(),
    haltPercent: z.number(),
    soakSeconds: z.int(),
    waveSuccessPercent: z.number().nullable(),
    inFlight: z.int(),
    succeeded: z.int(),
    failed: z.int(),
    failuresBeforeResume: z
      .int()
      .meta({ description: "Failures before the rollout was last resumed: they no longer count." }),
    budget: z.int().meta({
      description:
        "Offers that may be made now: even if all updates in flight fail, fewer than twice the threshold fail, or half as many as have " +
        "succeeded. Starts at 5 and doubles with each success.",
    }),
    reason: z.string().nullable().meta({ description: "Reason for the last halt, of the whole or of a part." }),
    haltedParts: z.array(haltedPart).meta({
      description:
        "Organizations and systems on which too many updates failed: their devices are offered nothing until the rollout is resumed.",
    }),
    heldByPlatform: z.boolean().meta({ description: "The platform paused it: its partner cannot resume it." }),
    mayChange: z.boolean().meta({ description: "Whether the caller may change it." }),
    allowDowngrade: z.boolean().meta({ description: "Whether devices that run a newer version go back to this one." }),
    createdAt: timeOut,
    updatedAt: timeOut,
  })
  .meta({ id: "Rollout" });
