import type { Rollout } from "@muster/proto/muster/release/v1/rollout_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { arch, os } from "../fields/agent-builds.ts";
import {
  id,
  idOut,
  idParams,
  listQuery,
  only,
  pageOf,
  pagination,
  paginationOf,
  timeOf,
  timeOrNull,
  timeOut,
} from "../fields/schemas.ts";
import { component, operate, readReleases, rolloutState as states, versionIn } from "./agent-versions.ts";
import { updateAttempt, updateAttemptOf } from "./device-updates.ts";

const tag = "Agent releases";
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
const ringIn = z
  .object({ name: z.string().min(1).max(100), partnerIds: ids, orgIds: ids, siteIds: ids, groupIds: ids, ...criteria })
  .meta({
    description:
      "Includes the devices of all these partners, organizations, sites and groups (of all owners, when none is named) that have all labels, " +
      "one of the systems and architectures, and an agent version in the range.",
  });
const idsOut = z.array(idOut);
const ringOut = z.object({
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

const percent = z.number().min(0).max(100);
const limits = {
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
  platform: z.string().nullable().meta({ description: "Operating system and architecture, such as `linux/amd64`." }),
  succeeded: z.int(),
  failed: z.int(),
  reason: z.string(),
  haltedAt: timeOut,
});

const rollout = z
  .object({
    id: idOut,
    versionId: idOut,
    component,
    version: z.string(),
    kind: z.enum(["guard", "staged"]).meta({ description: "Every version has a guard, for promotions and pins." }),
    state: states,
    rings: z.array(ringOut).meta({
      description: "The partners, organizations, sites and groups of a ring are shown to system callers only.",
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
    createdAt: timeOut,
    updatedAt: timeOut,
  })
  .meta({ id: "Rollout" });

const list = route({
  method: "GET",
  path: "/agent-versions/rollouts",
  access: readReleases,
  tag,
  summary: "List rollouts, newest first",
  query: listQuery.extend({
    component: component.optional().meta({ description: only.equal }),
    state: states.optional().meta({ description: only.equal }),
    kind: z.enum(["guard", "staged"]).optional().meta({ description: only.equal }),
  }),
  reply: z.object({ data: z.array(rollout), pagination }),
  async handle({ query, rpc }, { services }) {
    const { component: of = "", state = "", kind = "" } = query;
    const reply = await services.rollouts.listRollouts(
      { page: pageOf(query), component: of, state, kind },
      await rpc(),
    );
    return { data: reply.rollouts.map(rolloutOf), pagination: paginationOf(reply.page) };
  },
});

const get = route({
  method: "GET",
  path: "/agent-versions/rollouts/:id",
  access: readReleases,
  tag,
  summary: "One rollout",
  params: idParams,
  reply: rollout,
  errors: ["rollout_not_found"],
  handle: async ({ params, rpc }, { services }) =>
    rolloutOf((await services.rollouts.getRollout({ id: params.id }, await rpc())).rollout),
});

const create = route({
  method: "POST",
  path: "/agent-versions/rollouts",
  access: operate,
  tag,
  summary: "Offer a version to a part of the fleet before it is promoted",
  description:
    "The rollout halts itself when too many updates fail. Without rings it includes all devices within `percent`.",
  body: z.object({ component, version: versionIn, rings: z.array(ringIn).max(20).optional(), ...limits }),
  example: { component: "agent", version: "1.4.0", percent: 10 },
  bodyLimitBytes: 4 * 1024 * 1024,
  idempotent: true,
  audit: "agent_update.rollout.create",
  auditResource: "rollout",
  status: 201,
  reply: rollout,
  errors: ["agent_version_not_found", "release_untrusted", "limit_reached"],
  async handle({ body, rpc }, { services, updates }) {
    const rings = (body.rings ?? []).map(ringMessage);
    const reply = await services.rollouts.createRollout(
      { ...limitsIn(body), component: body.component, version: body.version, rings },
      await rpc(),
    );
    await updates.refresh();
    return rolloutOf(reply.rollout);
  },
});

const preview = route({
  method: "POST",
  path: "/agent-versions/rollouts/preview",
  access: operate,
  tag,
  summary: "Count the devices of rings before a rollout starts",
  description: "Changes nothing. A device of two rings counts in both.",
  body: z.object({ rings: z.array(ringIn).min(1).max(20) }),
  example: { rings: [{ name: "Linux", os: ["linux" as const] }] },
  bodyLimitBytes: 4 * 1024 * 1024,
  reply: z.object({
    rings: z.array(
      z.object({
        name: z.string(),
        devices: z.int(),
        ownDevices: z.int().meta({ description: "Devices that no ring before it includes." }),
      }),
    ),
  }),
  async handle({ body, rpc }, { services }) {
    const rings = body.rings.map(ringMessage);
    const { devices, ownDevices } = await services.rollouts.previewRings({ rings }, await rpc());
    return {
      rings: rings.map(({ name }, at) => ({ name, devices: devices[at] ?? 0, ownDevices: ownDevices[at] ?? 0 })),
    };
  },
});

const update = route({
  method: "PATCH",
  path: "/agent-versions/rollouts/:id",
  access: operate,
  tag,
  summary: "Widen a rollout, or change its limits",
  description: "Rings and percent only rise, so that every device that was offered a version stays included.",
  params: idParams,
  body: z.object(limits),
  example: { percent: 50 },
  audit: "agent_update.rollout.update",
  auditResource: "rollout",
  reply: rollout,
  errors: ["no_updates", "rollout_not_found", "rollout_not_running"],
  async handle({ params, body, rpc }, { services, updates }) {
    const reply = await services.rollouts.updateRollout({ id: params.id, ...limitsIn(body) }, await rpc());
    await updates.refresh();
    return rolloutOf(reply.rollout);
  },
});

const change = (name: "pause" | "complete" | "cancel", summary: string, description: string) =>
  route({
    method: "POST",
    path: `/agent-versions/rollouts/:id/${name}`,
    access: operate,
    tag,
    summary,
    description,
    params: idParams,
    audit: `agent_update.rollout.${name}`,
    auditResource: "rollout",
    reply: rollout,
    errors: ["rollout_not_found", "rollout_not_running", "agent_version_not_found", "release_untrusted"],
    async handle({ params, rpc }, { services, updates }) {
      const reply = await services.rollouts.changeState({ id: params.id, change: name }, await rpc());
      await updates.refresh();
      return rolloutOf(reply.rollout);
    },
  });

const resume = route({
  method: "POST",
  path: "/agent-versions/rollouts/:id/resume",
  access: operate,
  tag,
  summary: "Go on after a pause or a halt",
  description:
    "A rollout with more failures than its limits allow continues only with `acceptFailures`: the failures so far no longer count.",
  params: idParams,
  body: z.object({
    acceptFailures: z.boolean().optional().meta({ description: "Sets `failuresBeforeResume` to the present count." }),
  }),
  example: { acceptFailures: true },
  audit: "agent_update.rollout.resume",
  auditResource: "rollout",
  reply: rollout,
  errors: ["rollout_not_found", "rollout_not_running", "rollout_over_threshold"],
  async handle({ params, body, rpc }, { services, updates }) {
    const wanted = { id: params.id, change: "resume", acceptFailures: body.acceptFailures ?? false };
    const reply = await services.rollouts.changeState(wanted, await rpc());
    await updates.refresh();
    return rolloutOf(reply.rollout);
  },
});

const progress = route({
  method: "GET",
  path: "/agent-versions/rollouts/:id/progress",
  access: readReleases,
  tag,
  summary: "Progress of a rollout over time",
  params: idParams,
  query: z.object({
    bucket: z
      .string()
      .max(10)
      .optional()
      .meta({ description: "Seconds of a bucket; at most 200 buckets.", example: "60" }),
  }),
  reply: z.object({
    rollout,
    bucketSeconds: z.int(),
    buckets: z.array(
      z.object({ at: timeOut, offered: z.int(), returned: z.int(), succeeded: z.int(), failed: z.int() }),
    ),
    expectedEnd: timeOut
      .nullable()
      .meta({ description: "Expected end of the updates in flight, at the rate of the last buckets." }),
  }),
  errors: ["rollout_not_found"],
  async handle({ params, query, rpc }, { services }) {
    const wanted = Number(query.bucket ?? 0);
    const bucketSeconds = Number.isInteger(wanted) && wanted > 0 ? Math.min(wanted, 86_400) : 0;
    const reply = await services.rollouts.getProgress({ id: params.id, bucketSeconds }, await rpc());
    return {
      rollout: rolloutOf(reply.rollout),
      bucketSeconds: reply.bucketSeconds,
      buckets: reply.buckets.map(({ at, offered, returned, succeeded, failed }) => {
        return { at: timeOf(at), offered, returned, succeeded, failed };
      }),
      expectedEnd: timeOrNull(reply.expectedEnd),
    };
  },
});

const devices = route({
  method: "GET",
  path: "/agent-versions/rollouts/:id/devices",
  access: readReleases,
  tag,
  summary: "Update attempts of a rollout, newest first",
  description: "Contains the attempts of devices that are visible to the caller.",
  params: idParams,
  query: listQuery.extend({
    state: z
      .enum(["offered", "returned", "succeeded", "failed", "cancelled", "deferred"])
      .optional()
      .meta({ description: only.equal }),
    reason: z.string().max(50).optional().meta({ description: only.equal, example: "silent" }),
  }),
  reply: z.object({ data: z.array(updateAttempt), pagination }),
  errors: ["rollout_not_found"],
  async handle({ params, query, rpc }, { services }) {
    const { state = "", reason = "" } = query;
    const reply = await services.rollouts.listDevices(
      { id: params.id, page: pageOf(query), state, reason },
      await rpc(),
    );
    return { data: reply.attempts.map(updateAttemptOf), pagination: paginationOf(reply.page) };
  },
});

function ringMessage({ name, ...ring }: z.output<typeof ringIn>) {
  return {
    name,
    partnerIds: ring.partnerIds ?? [],
    orgIds: ring.orgIds ?? [],
    siteIds: ring.siteIds ?? [],
    groupIds: ring.groupIds ?? [],
    labels: ring.labels ?? {},
    os: ring.os ?? [],
    arch: ring.arch ?? [],
    agentVersionRange: ring.agentVersionRange ?? "",
  };
}

type Limits = { [K in keyof typeof limits]?: number | undefined };

/** The limits that the body contains. */
function limitsIn(body: Limits): { [K in keyof typeof limits]?: number } {
  const names = Object.keys(limits) as (keyof typeof limits)[];
  return Object.fromEntries(names.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])));
}

function rolloutOf(message: Rollout | undefined): z.input<typeof rollout> {
  if (!message) throw new Error("agent-release answered without a rollout");
  return {
    id: message.id,
    versionId: message.releaseId,
    component: component.parse(message.component),
    version: message.version,
    kind: message.kind as "guard",
    state: states.parse(message.state),
    rings: message.rings.map(({ agentVersionRange, ...ring }) => ({
      name: ring.name,
      partnerIds: ring.partnerIds,
      orgIds: ring.orgIds,
      siteIds: ring.siteIds,
      groupIds: ring.groupIds,
      labels: ring.labels,
      os: ring.os.map((each) => os.parse(each)),
      arch: ring.arch.map((each) => arch.parse(each)),
      agentVersionRange: agentVersionRange || null,
    })),
    openRings: message.openRings,
    percent: message.percent,
    maxInFlight: message.maxInFlight,
    haltAfterFailures: message.haltAfterFailures,
    haltPercent: message.haltPercent,
    soakSeconds: message.soakSeconds,
    waveSuccessPercent: message.waveSuccessPercent ?? null,
    inFlight: message.inFlight,
    succeeded: message.succeeded,
    failed: message.failed,
    failuresBeforeResume: message.failuresBeforeResume,
    budget: message.budget,
    reason: message.reason || null,
    haltedParts: message.haltedParts.map(({ kind, orgId, platform, succeeded, failed, reason, haltedAt }) => ({
      kind: kind as "platform",
      orgId: orgId || null,
      platform: platform || null,
      succeeded,
      failed,
      reason,
      haltedAt: timeOf(haltedAt),
    })),
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
  };
}

export const agentVersionRolloutRoutes: readonly Route[] = [
  list,
  get,
  create,
  preview,
  update,
  change(
    "pause",
    "Stop offering a version",
    "No device is offered the version until the rollout is resumed; the clocks of its updates in flight stand still.",
  ),
  resume,
  change(
    "complete",
    "Promote the version of a staged rollout",
    "The rest of the fleet follows, under the guard of the version.",
  ),
  change("cancel", "End a staged rollout", "Devices that run the version keep it."),
  progress,
  devices,
];
