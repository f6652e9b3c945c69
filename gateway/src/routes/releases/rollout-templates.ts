import type { RolloutTemplate } from "@muster/proto/muster/release/v1/template_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import {
  idOut,
  idParams,
  listQuery,
  nameIn,
  pageOf,
  pagination,
  paginationOf,
  success,
  timeOf,
  timeOut,
} from "../fields/schemas.ts";
import { operate } from "./agent-versions.ts";
import { limits, ringIn, ringOut } from "./rollout-fields.ts";
import { limitsIn, ringMessage, ringOutOf } from "./rollout-replies.ts";

const tag = "Agent releases";
const path = "/agent-versions/rollout-templates";
const audited = { auditResource: "rollout_template" } as const;
const read = { auth: "session", permission: "platform:admin", scopes: ["system"] } as const;

const body = z.object({ name: nameIn.max(100), rings: z.array(ringIn).max(20).optional(), ...limits });
const example = { name: "Pilot first", rings: [{ name: "Pilot", os: ["linux" as const] }], percent: 10 };

const numbers = z.number().nullable();
const template = z
  .object({
    id: idOut,
    name: z.string(),
    rings: z.array(ringOut),
    percent: numbers,
    openRings: numbers,
    maxInFlight: numbers,
    haltAfterFailures: numbers,
    haltPercent: numbers,
    soakSeconds: numbers,
    waveSuccessPercent: numbers,
    createdAt: timeOut,
    updatedAt: timeOut,
  })
  .meta({ id: "RolloutTemplate", description: "Null: as of a rollout that does not name the number." });

const list = route({
  method: "GET",
  path,
  access: read,
  tag,
  summary: "List templates of rollouts, newest first",
  query: listQuery,
  reply: z.object({ data: z.array(template), pagination }),
  async handle({ query, rpc }, { services }) {
    const reply = await services.rolloutTemplates.listTemplates({ page: pageOf(query) }, await rpc());
    return { data: reply.templates.map(templateOf), pagination: paginationOf(reply.page) };
  },
});

const get = route({
  method: "GET",
  path: `${path}/:id`,
  access: read,
  tag,
  summary: "One template of rollouts",
  params: idParams,
  reply: template,
  errors: ["rollout_template_not_found"],
  handle: async ({ params, rpc }, { services }) =>
    templateOf((await services.rolloutTemplates.getTemplate({ id: params.id }, await rpc())).template),
});

const create = route({
  method: "POST",
  path,
  access: operate,
  tag,
  summary: "Keep rings, waves and limits under a name for new rollouts",
  description:
    "`POST /agent-versions/rollouts` takes its `templateId`. A later change of the template changes no rollout.",
  body,
  example,
  bodyLimitBytes: 4 * 1024 * 1024,
  idempotent: true,
  audit: "agent_update.rollout_template.create",
  ...audited,
  status: 201,
  reply: template,
  errors: ["limit_reached", "name_taken"],
  async handle({ body: sent, rpc }, { services }) {
    const reply = await services.rolloutTemplates.createTemplate({ template: messageOf("", sent) }, await rpc());
    return templateOf(reply.template);
  },
});

const replace = route({
  method: "PUT",
  path: `${path}/:id`,
  access: operate,
  tag,
  summary: "Replace a template of rollouts",
  params: idParams,
  body,
  example,
  bodyLimitBytes: 4 * 1024 * 1024,
  audit: "agent_update.rollout_template.update",
  ...audited,
  reply: template,
  errors: ["rollout_template_not_found", "name_taken"],
  async handle({ params, body: sent, rpc }, { services }) {
    const wanted = { template: messageOf(params.id, sent) };
    return templateOf((await services.rolloutTemplates.replaceTemplate(wanted, await rpc())).template);
  },
});

const remove = route({
  method: "DELETE",
  path: `${path}/:id`,
  access: operate,
  tag,
  summary: "Delete a template of rollouts",
  params: idParams,
  audit: "agent_update.rollout_template.delete",
  ...audited,
  reply: success,
  errors: ["rollout_template_not_found"],
  async handle({ params, rpc }, { services }) {
    await services.rolloutTemplates.deleteTemplate({ id: params.id }, await rpc());
    return { success: true as const };
  },
});

function messageOf(id: string, { name, rings = [], ...sent }: z.output<typeof body>) {
  return { id, name, rings: rings.map(ringMessage), ...limitsIn(sent) };
}

function templateOf(message: RolloutTemplate | undefined): z.input<typeof template> {
  if (!message) throw new Error("agent-release answered without a template");
  return {
    id: message.id,
    name: message.name,
    rings: message.rings.map(ringOutOf),
    percent: message.percent ?? null,
    openRings: message.openRings ?? null,
    maxInFlight: message.maxInFlight ?? null,
    haltAfterFailures: message.haltAfterFailures ?? null,
    haltPercent: message.haltPercent ?? null,
    soakSeconds: message.soakSeconds ?? null,
    waveSuccessPercent: message.waveSuccessPercent ?? null,
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
  };
}

export const rolloutTemplateRoutes: readonly Route[] = [list, get, create, replace, remove];
