import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database, Tx } from "@muster/db";
import {
  AppError,
  type CallContext,
  clampPage,
  type FieldErrors,
  longerThan,
  nameError,
  uuidv7,
  validationError,
} from "@muster/kit";
import {
  type RolloutTemplate,
  RolloutTemplateSchema,
  RolloutTemplateService,
} from "@muster/proto/muster/release/v1/template_pb";
import { callContext } from "@muster/rpc";
import { checkedBefore, idempotentTx, requirePermission, requireScope } from "@muster/service";
import type { CountDevices } from "../clients/tenancy.ts";
import { countRings, readRings } from "../commands/read-rings.ts";
import { auditTemplate } from "../emits/audit.ts";
import { limitsNamed, readLimits } from "../rules/rollout-limits.ts";
import {
  countTemplates,
  deleteTemplate,
  findTemplate,
  insertTemplate,
  listTemplates,
  lockTemplate,
  replaceTemplate,
  type TemplateRow,
} from "../store/templates.ts";
import { requirePlatform } from "./guards.ts";
import { ringFields } from "./rollout-message.ts";

export type TemplateDeps = { db: Database; now: () => Date; mfaMaxAgeMinutes: number; countDevices: CountDevices };

const templatesMax = 100;
/** Characters of a name, which stands in the heads of tables. */
const nameMax = 100;

/** Named rings, waves and limits that new rollouts take. */
export function rolloutTemplateService(deps: TemplateDeps): ServiceImpl<typeof RolloutTemplateService> {
  const { db, now, mfaMaxAgeMinutes } = deps;
  return {
    async listTemplates({ page }, handler) {
      const context = platformReader(handler);
      const { rows, info } = await listTemplates(db, context, clampPage(page ?? {}));
      return { templates: rows.map(templateMessage), page: info };
    },

    async getTemplate({ id }, handler) {
      const row = await findTemplate(db, platformReader(handler), id);
      if (row === null) throw templateNotFound();
      return { template: templateMessage(row) };
    },

    async createTemplate(request, handler) {
      const context = callContext(handler);
      requirePlatform(context, mfaMaxAgeMinutes);
      const wanted = await readTemplate(deps, request.template);
      const [at, method] = [now(), RolloutTemplateService.method.createTemplate];
      return idempotentTx(db, context, method, request, checkedBefore, async (tx) => {
        if ((await countTemplates(tx)) >= templatesMax) {
          throw new AppError("limit_reached", `At most ${templatesMax} templates`, { facts: { limit: templatesMax } });
        }
        const by = context.caller.actor.id;
        const row = { ...wanted, id: uuidv7(at.getTime()), created_by: by, created_at: at, updated_at: at };
        await insertTemplate(tx, row);
        audit(tx, context, "create", { before: null, after: row }, at);
        return { template: templateMessage(row) };
      });
    },

    async replaceTemplate({ template }, handler) {
      const context = callContext(handler);
      requirePlatform(context, mfaMaxAgeMinutes);
      const wanted = await readTemplate(deps, template);
      const at = now();
      const row = await db.tx(context, async (tx) => {
        const before = await existing(tx, template?.id ?? "");
        const after = { ...before, ...wanted, updated_at: at };
        await replaceTemplate(tx, after);
        audit(tx, context, "update", { before, after }, at);
        return after;
      });
      return { template: templateMessage(row) };
    },

    async deleteTemplate({ id }, handler) {
      const context = callContext(handler);
      requirePlatform(context, mfaMaxAgeMinutes);
      await db.tx(context, async (tx) => {
        const before = await existing(tx, id);
        await deleteTemplate(tx, before.id);
        audit(tx, context, "delete", { before, after: null }, now());
      });
      return {};
    },
  };
}

/** The template that a new rollout names, null for none. Throws `rollout_template_not_found`. */
export async function namedTemplate(db: Database, context: CallContext, id: string): Promise<TemplateRow | null> {
  if (id === "") return null;
  const row = await findTemplate(db, context, id);
  if (row === null) throw templateNotFound();
  return row;
}

type Handler = Parameters<typeof callContext>[0];

function platformReader(handler: Handler): CallContext {
  const context = callContext(handler);
  requirePermission(context, "platform:admin");
  requireScope(context, "system");
  return context;
}

/** Throws `validation_failed` with every error; rings may be empty of devices, which may come later. */
async function readTemplate(
  { countDevices }: TemplateDeps,
  template: RolloutTemplate | undefined,
): Promise<Pick<TemplateRow, "name" | "rings" | "limits">> {
  const { name = "", rings: sent = [] } = template ?? {};
  const errors: FieldErrors = {};
  const nameProblem = name.trim() === "" || longerThan(name, nameMax) ? `1 to ${nameMax} characters` : nameError(name);
  if (nameProblem !== null) errors.name = [nameProblem];
  const rings = readRings(sent, errors);
  const limits = limitsNamed(template ?? {});
  readLimits(limits, rings.length, errors);
  if (Object.keys(errors).length > 0) throw validationError(errors);
  await countRings(rings, countDevices, { needed: false, partnerId: null });
  return { name, rings, limits };
}

async function existing(tx: Tx, id: string): Promise<TemplateRow> {
  const row = await lockTemplate(tx, id);
  if (row === null) throw templateNotFound();
  return row;
}

const templateNotFound = () => new AppError("rollout_template_not_found", "Rollout template not found");

type Change = { before: TemplateRow | null; after: TemplateRow | null };

function audit(tx: Tx, context: CallContext, action: string, { before, after }: Change, at: Date): void {
  const shown = (row: TemplateRow | null) =>
    row === null ? {} : { name: row.name, ...row.limits, rings: row.rings.map((ring) => ring.name) };
  const { id = "", name = "" } = after ?? before ?? {};
  const details = { changes: { before: shown(before), after: shown(after) } };
  auditTemplate(tx, context, { action: `agent_update.rollout_template.${action}`, id, name, details }, at);
}

function templateMessage(row: TemplateRow): RolloutTemplate {
  return create(RolloutTemplateSchema, {
    id: row.id,
    name: row.name,
    rings: row.rings.map(ringFields),
    ...definite(row.limits),
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
  });
}

const definite = (limits: TemplateRow["limits"]) => limitsNamed(limits) as Record<string, number>;
