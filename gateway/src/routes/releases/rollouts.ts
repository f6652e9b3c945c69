import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import {
  id,
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
import { component, readReleases, rollOut, rolloutState as states, versionIn } from "./agent-versions.ts";
import { updateAttempt, updateAttemptOf } from "./device-updates.ts";
import { limits, ringIn, rollout, wave } from "./rollout-fields.ts";
import { limitsIn, ringMessage, rolloutOf } from "./rollout-replies.ts";

const tag = "Agent releases";

const rollback = {
  allowDowngrade: z
    .boolean()
    .optional()
    .meta({ description: "Devices that run a newer version go back to this one. Needs `rollbackNote`." }),
  rollbackNote: z.string().max(65_536).optional().meta({
    description:
      "C2SP signed note `{component, version, counter, scope, expires}` of a key of the manifests; `scope` is `*`.",
  }),
};

const list = route({
  method: "GET",
  path: "/agent-versions/rollouts",
  access: readReleases,
  tag,
  summary: "List rollouts of the platform and of your partner, newest first",
  query: listQuery.extend({
    component: component.optional().meta({ description: only.equal }),
    state: states.optional().meta({ description: only.equal }),
    kind: z.enum(["guard", "staged"]).optional().meta({ description: only.equal }),
    partnerId: id.optional().meta({ description: only.equal }),
  }),
  reply: z.object({ data: z.array(rollout), pagination }),
  errors: ["partner_not_found"],
  async handle({ query, rpc }, { services }) {
    const { component: of = "", state = "", kind = "", partnerId = "" } = query;
    const wanted = { page: pageOf(query), component: of, state, kind, partnerId };
    const reply = await services.rollouts.listRollouts(wanted, await rpc());
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
  access: rollOut,
  tag,
  summary: "Offer a version to a part of the fleet before it is promoted",
  description:
    "The rollout halts itself when too many updates fail. Without rings it includes all devices within `percent`. A partner's, which needs " +
    "access to all of its organizations, includes only its own devices, and offers nothing where the platform's rollout of the version is halted.",
  body: z.object({
    component,
    version: versionIn,
    templateId: id
      .optional()
      .meta({ description: "Rings and numbers that the body lacks are those of this template." }),
    rings: z.array(ringIn).max(20).optional(),
    ...limits,
    ...rollback,
  }),
  example: { component: "agent", version: "1.4.0", percent: 10 },
  bodyLimitBytes: 4 * 1024 * 1024,
  idempotent: true,
  audit: "agent_update.rollout.create",
  auditResource: "rollout",
  status: 201,
  reply: rollout,
  errors: [
    "agent_version_not_found",
    "release_untrusted",
    "limit_reached",
    "site_restricted",
    "rollback_note_required",
    "rollout_template_not_found",
  ],
  async handle({ body, rpc }, { services, updates }) {
    const rings = (body.rings ?? []).map(ringMessage);
    const { component: of, version, templateId = "", allowDowngrade = false, rollbackNote = "" } = body;
    const back = { allowDowngrade, rollbackNote };
    const wanted = { ...limitsIn(body), component: of, version, rings, templateId, ...back };
    const reply = await services.rollouts.createRollout(wanted, await rpc());
    await updates.refresh();
    return rolloutOf(reply.rollout);
  },
});

const preview = route({
  method: "POST",
  path: "/agent-versions/rollouts/preview",
  access: rollOut,
  tag,
  summary: "Count the devices of rings before a rollout starts",
  description: "Changes nothing. A device of two rings counts in both. Partners count only their own devices.",
  body: z.object({ rings: z.array(ringIn).min(1).max(20) }),
  example: { rings: [{ name: "Linux", os: ["linux" as const] }] },
  bodyLimitBytes: 4 * 1024 * 1024,
  errors: ["site_restricted"],
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
  access: rollOut,
  tag,
  summary: "Widen a rollout, or change its limits",
  description: "Rings and percent only rise, so that every device that was offered a version stays included.",
  params: idParams,
  body: z.object(limits),
  example: { percent: 50 },
  audit: "agent_update.rollout.update",
  auditResource: "rollout",
  reply: rollout,
  errors: ["no_updates", "rollout_not_found", "rollout_not_running", "site_restricted"],
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
    access: rollOut,
    tag,
    summary,
    description,
    params: idParams,
    audit: `agent_update.rollout.${name}`,
    auditResource: "rollout",
    reply: rollout,
    errors: [
      "rollout_not_found",
      "rollout_not_running",
      "agent_version_not_found",
      "release_untrusted",
      "site_restricted",
    ],
    async handle({ params, rpc }, { services, updates }) {
      const reply = await services.rollouts.changeState({ id: params.id, change: name }, await rpc());
      await updates.refresh();
      return rolloutOf(reply.rollout);
    },
  });

const resume = route({
  method: "POST",
  path: "/agent-versions/rollouts/:id/resume",
  access: rollOut,
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
  errors: ["rollout_not_found", "rollout_not_running", "rollout_over_threshold", "site_restricted"],
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
    waves: z.array(wave).meta({ description: "One for each ring, in their order." }),
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
      waves: reply.waves.map(({ name, isOpen, devices, offered, inFlight, succeeded, failed }) => {
        return { name, isOpen, devices, offered, inFlight, succeeded, failed };
      }),
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
    "The rest of the fleet follows, under the guard of the version. A partner's rollout pins the version for the partner instead.",
  ),
  change("cancel", "End a staged rollout", "Devices that run the version keep it."),
  progress,
  devices,
];
