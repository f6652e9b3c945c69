import type { GetSettingsResponse, UpdateSettings } from "@muster/proto/muster/release/v1/settings_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { idParams, timeOrNull, timeOut } from "../fields/schemas.ts";
import { versionIn } from "./agent-versions.ts";
import { day, policy, settingsFields } from "./update-fields.ts";

const tag = "Agent releases";

const target = z
  .union([z.literal("latest"), versionIn])
  .nullish()
  .meta({ description: "`latest` (the promoted version) or a registered version; null leaves it unset." });
const time = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, "Must be a time HH:MM")
  .nullish();
const endTime = z
  .string()
  .regex(/^(([01]\d|2[0-3]):[0-5]\d|24:00)$/, "Must be a time HH:MM")
  .nullish();

const rollback = {
  allowDowngrade: z
    .boolean()
    .nullish()
    .meta({ description: "Devices that run a newer version go back to the pinned one. Needs `rollbackNote`." }),
  rollbackNote: z.string().max(65_536).nullish().meta({
    description: "C2SP signed note `{component, version, counter, scope, expires}` of a key of the manifests.",
  }),
};

const body = z.object({
  agentTarget: target,
  watchdogTarget: target,
  updatePolicy: policy.nullish().meta({ description: "`manual`: updates start only on request." }),
  windowDays: z
    .array(day)
    .min(1)
    .max(7)
    .nullish()
    .meta({ description: "Days on which updates may start; null stands for every day." }),
  windowStart: time.meta({ description: "Start of the maintenance window, in UTC.", example: "22:00" }),
  windowEnd: endTime.meta({
    description:
      "End of the maintenance window, in UTC. An end before the start is on the next day; an end equal to the start means the whole day.",
  }),
  ...rollback,
});

const example = {
  updatePolicy: "automatic" as const,
  windowDays: ["sat" as const, "sun" as const],
  windowStart: "22:00",
  windowEnd: "04:00",
};

const settings = z
  .object({
    fields: settingsFields,
    allowDowngrade: z.boolean().meta({ description: "Whether devices go back to the version that this level pins." }),
    rollbackNote: z.string().nullable(),
    windowOpen: z.boolean(),
    nextOpening: timeOut.nullable(),
    available: z
      .object({ agent: z.array(z.string()), watchdog: z.array(z.string()) })
      .meta({ description: "Versions that may be pinned, newest first." }),
  })
  .meta({ id: "AgentUpdateSettings" });

const description =
  "Pins are inherited and may be overridden by the organization, agent and watchdog each by itself. Policy and window: a field that the " +
  "partner sets wins and locks; the organization's own value is kept and counts again when the partner's is gone.";
const readAccess = { auth: "session", permission: "organizations:read", keyScopes: ["organizations:read"] } as const;

const getOrganization = route({
  method: "GET",
  path: "/orgs/organizations/:id/agent-updates",
  access: readAccess,
  tag,
  summary: "Pins, update policy and maintenance window of an organization",
  description,
  params: idParams,
  reply: settings,
  errors: ["organization_not_found"],
  handle: async ({ params, rpc }, { services }) =>
    settingsOf(await services.updateSettings.getSettings({ orgId: params.id }, await rpc())),
});

const putOrganization = route({
  method: "PUT",
  path: "/orgs/organizations/:id/agent-updates",
  access: { auth: "session", permission: "organizations:write", mfa: true },
  tag,
  summary: "Replace pins, update policy and maintenance window of an organization",
  description:
    "Every field is replaced: an omitted field is unset. A field that the partner locks is stored and has no effect.",
  params: idParams,
  body,
  example,
  audit: "agent_update.settings.update",
  auditResource: "organization",
  reply: settings,
  errors: ["organization_not_found", "site_restricted", "rollback_note_required"],
  async handle({ params, body: sent, rpc }, { services, updates }) {
    const wanted = { orgId: params.id, settings: messageOf(sent) };
    const reply = await services.updateSettings.putSettings(wanted, await rpc());
    await updates.refresh();
    return settingsOf(reply.settings);
  },
});

const getPartner = route({
  method: "GET",
  path: "/orgs/partners/me/agent-updates",
  access: { auth: "session", permission: "organizations:read", scopes: ["partner"] },
  tag,
  summary: "Pins, update policy and maintenance window of the own partner",
  description,
  reply: settings,
  handle: async ({ rpc }, { services }) => settingsOf(await services.updateSettings.getSettings({}, await rpc())),
});

const putPartner = route({
  method: "PUT",
  path: "/orgs/partners/me/agent-updates",
  access: { auth: "session", permission: "partner:policy", mfa: true, scopes: ["partner"] },
  tag,
  summary: "Replace pins, update policy and maintenance window of the own partner",
  description: "Needs access to all of its organizations. Every field is replaced: an omitted field is unset.",
  body,
  example,
  audit: "agent_update.settings.update",
  auditResource: "partner",
  reply: settings,
  errors: ["scope_not_allowed", "site_restricted", "rollback_note_required"],
  async handle({ body: sent, rpc }, { services, updates }) {
    const reply = await services.updateSettings.putSettings({ settings: messageOf(sent) }, await rpc());
    await updates.refresh();
    return settingsOf(reply.settings);
  },
});

function messageOf(sent: z.output<typeof body>): Omit<UpdateSettings, "$typeName"> {
  const start = minutesOf(sent.windowStart);
  const end = minutesOf(sent.windowEnd);
  return {
    ...(sent.agentTarget ? { agentTarget: sent.agentTarget } : {}),
    ...(sent.watchdogTarget ? { watchdogTarget: sent.watchdogTarget } : {}),
    ...(sent.updatePolicy ? { updatePolicy: sent.updatePolicy } : {}),
    windowDays: sent.windowDays ?? [],
    hasWindowDays: Boolean(sent.windowDays),
    ...(start === null ? {} : { windowStart: start }),
    ...(end === null ? {} : { windowEnd: end }),
    allowDowngrade: sent.allowDowngrade ?? false,
    ...(sent.rollbackNote ? { rollbackNote: sent.rollbackNote } : {}),
  };
}

function minutesOf(text: string | null | undefined): number | null {
  if (!text) return null;
  const [hours = 0, minutes = 0] = text.split(":").map(Number);
  return hours * 60 + minutes;
}

function textOf(minutes: number | undefined): string | null {
  if (minutes === undefined) return null;
  return `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
}

function settingsOf(reply: GetSettingsResponse | undefined): z.input<typeof settings> {
  if (!reply?.own) throw new Error("agent-release answered without settings");
  const { own } = reply;
  const values: Record<string, unknown> = {
    agentTarget: own.agentTarget ?? null,
    watchdogTarget: own.watchdogTarget ?? null,
    updatePolicy: own.updatePolicy ?? null,
    windowDays: own.hasWindowDays ? own.windowDays : null,
    windowStart: textOf(own.windowStart),
    windowEnd: textOf(own.windowEnd),
  };
  const fields = Object.entries(values).map(([name, value]) => {
    const { effectiveJson = "", source = "default", lockedBy = "" } = reply.fields[name] ?? {};
    const effective = effectiveJson === "" ? null : JSON.parse(effectiveJson);
    return [name, { value, effective, source, lockedBy: lockedBy || null }];
  });
  return {
    fields: Object.fromEntries(fields) as z.input<typeof settingsFields>,
    allowDowngrade: own.allowDowngrade,
    rollbackNote: own.rollbackNote ?? null,
    windowOpen: reply.windowOpen,
    nextOpening: timeOrNull(reply.nextOpening),
    available: { agent: reply.agentVersions, watchdog: reply.watchdogVersions },
  };
}

export const agentUpdateRoutes: readonly Route[] = [getPartner, putPartner, getOrganization, putOrganization];
