import { type Attempt, Rule } from "@muster/proto/muster/release/v1/update_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { idOut, idParams, timeOf, timeOrNull, timeOut } from "../fields/schemas.ts";
import { component } from "./agent-versions.ts";
import { settingsFields } from "./update-fields.ts";

const tag = "Devices";

export const updateAttempt = z
  .object({
    id: idOut,
    deviceId: idOut,
    orgId: idOut,
    component,
    version: z.string(),
    fromVersion: z.string(),
    state: z.enum(["offered", "returned", "succeeded", "failed", "cancelled", "deferred"]).meta({
      description:
        "Returned: the device runs the new version and must keep running it for a while. Deferred: a file was locked.",
    }),
    reason: z.string().nullable(),
    rolloutId: idOut,
    offeredAt: timeOut,
    endedAt: timeOut.nullable(),
  })
  .meta({ id: "UpdateAttempt" });

type RuleName = Lowercase<Exclude<keyof typeof Rule, "UNSPECIFIED">>;
const nameOf = (rule: Rule) => Rule[rule].toLowerCase() as RuleName;
const rules = Object.values(Rule).flatMap((rule) =>
  typeof rule === "number" && rule !== Rule.UNSPECIFIED ? [nameOf(rule)] : [],
);

const decision = route({
  method: "GET",
  path: "/devices/:id/update-decision",
  access: { auth: "session", permission: "devices:read", keyScopes: ["devices:read"] },
  tag,
  summary: "Why a device updates or does not",
  description:
    "The answer that its next heartbeat would receive, and the first rule that decides it, per component. Grants no offer.",
  params: idParams,
  reply: z
    .object({
      components: z.array(
        z.object({
          component,
          current: z.string().nullable(),
          target: z.string().nullable(),
          targetSource: z.enum(["organization", "partner", "latest", "rollout", "minimum"]).nullable(),
          rule: z.enum(rules),
          detail: z.string(),
          nextCheckAt: timeOut,
        }),
      ),
      settings: settingsFields,
      windowOpen: z.boolean(),
      nextOpening: timeOut.nullable(),
      requestedUntil: timeOut
        .nullable()
        .meta({ description: "An update was requested, and overrides policy and window." }),
      attempts: z.array(updateAttempt).meta({ description: "The newest five update attempts." }),
    })
    .meta({ id: "UpdateDecision" }),
  errors: ["device_not_found"],
  async handle({ params, rpc }, { services }) {
    const reply = await services.updates.getDecision({ deviceId: params.id }, await rpc());
    return {
      components: reply.components.map((each) => ({
        component: component.parse(each.component),
        current: each.current || null,
        target: each.target || null,
        targetSource: (each.targetSource || null) as "latest" | null,
        rule: nameOf(each.decidingRule),
        detail: each.detail,
        nextCheckAt: timeOf(each.nextCheckAt),
      })),
      settings: JSON.parse(reply.settingsJson) as z.input<typeof settingsFields>,
      windowOpen: reply.windowOpen,
      nextOpening: timeOrNull(reply.nextOpening),
      requestedUntil: timeOrNull(reply.requestedUntil),
      attempts: reply.attempts.map(updateAttemptOf),
    };
  },
});

const request = route({
  method: "POST",
  path: "/devices/:id/update",
  audit: "device.update.request",
  access: { auth: "session", permission: "devices:write", keyScopes: ["devices:write"] },
  tag,
  summary: "Update a device now",
  description:
    "Its next heartbeat within 24 hours is offered its target version once, whatever update policy and maintenance window are set. A device " +
    "whose automatic updates are off, and a rollout that is halted or full, stay as they are.",
  params: idParams,
  status: 202,
  reply: z.object({ id: idOut, expiresAt: timeOut }),
  errors: ["device_not_found", "device_decommissioned"],
  async handle({ params, rpc }, { services, updates }) {
    const { expiresAt } = await services.updates.requestUpdate({ deviceId: params.id }, await rpc());
    await updates.refresh();
    return { id: params.id, expiresAt: timeOf(expiresAt) };
  },
});

export function updateAttemptOf(message: Attempt): z.input<typeof updateAttempt> {
  return {
    id: message.id,
    deviceId: message.deviceId,
    orgId: message.orgId,
    component: component.parse(message.component),
    version: message.version,
    fromVersion: message.fromVersion,
    state: message.state as "offered",
    reason: message.reason || null,
    rolloutId: message.rolloutId,
    offeredAt: timeOf(message.offeredAt),
    endedAt: timeOrNull(message.endedAt),
  };
}

export const deviceUpdateRoutes: readonly Route[] = [decision, request];
