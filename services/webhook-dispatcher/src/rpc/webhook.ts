import { isDeepStrictEqual } from "node:util";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { type Egress, EgressRefused, shownUrl } from "@muster/egress";
import { AppError, clampPage, isCustomEventType, isUuid, uuidv7, validationError } from "@muster/kit";
import { WebhookChangeSchema, WebhookService } from "@muster/proto/muster/webhook/v1/webhook_pb";
import { callContext } from "@muster/rpc";
import { checkedBefore, idempotentTx, repeatedReply } from "@muster/service";
import { earlierPosts } from "../commands/earlier-posts.ts";
import type { Intake } from "../commands/intake.ts";
import { unknownEventType } from "../commands/own-events.ts";
import { type HealthThresholds, healthOf } from "../rules/health.ts";
import {
  changeWebhook,
  newWebhook,
  originChanges,
  type StoredStatus,
  statuses,
  type WebhookFields,
} from "../rules/webhook.ts";
import { unknownEventTypes } from "../store/event-types.ts";
import { webhookHealth } from "../store/health.ts";
import { foreignSites } from "../store/tenants.ts";
import {
  countWebhooks,
  findWebhook,
  holdOrganization,
  holdOrganizationOf,
  insertWebhook,
  listWebhooks,
  lockWebhook,
  markDeleted,
  openFields,
  queuedCounts,
  updateWebhook,
} from "../store/webhooks.ts";
import {
  listedOrganization,
  organizationOf,
  requireReader,
  requireRevealer,
  requireWriter,
  webhookNotFound,
} from "./guards.ts";
import { healthMessage } from "./health-message.ts";
import { record } from "./record.ts";
import { type RotationDeps, rotations } from "./rotations.ts";
import { auditedFields, webhookMessage } from "./webhook-message.ts";

export type WebhookDeps = RotationDeps & {
  egress: Pick<Egress, "check">;
  /** Called after a change: deliveries of the webhook may be due now. */
  wake: () => void;
  intake: Pick<Intake, "answered">;
  /** Most webhooks of one organization. */
  perOrganization: number;
  health: HealthThresholds;
};

type Handlers = ServiceImpl<typeof WebhookService>;

/** Webhooks of organizations (docs/behaviour.md#webhook-deliveries). */
export function webhookService(deps: WebhookDeps): Handlers {
  return { ...creation(deps), ...changes(deps), ...rotations(deps), ...revealing(deps), ...reads(deps) };
}

function creation(deps: WebhookDeps): Pick<Handlers, "createWebhook" | "deleteWebhook"> {
  const { db, now, box } = deps;
  return {
    async createWebhook(request, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const fields = newWebhook(request, deps);
      const tenant = await organizationOf(deps, context, request.orgId);
      const { createWebhook } = WebhookService.method;
      const repeated = await repeatedReply(db, context, createWebhook, request);
      if (repeated) return repeated;
      const shown = await validatedUrl(deps, fields.url);
      const at = now();
      const reply = await idempotentTx(db, context, createWebhook, request, checkedBefore, async (tx) => {
        const owner = { ...tenant, createdBy: context.caller.actor.id };
        await holdOrganization(tx, tenant.orgId);
        if ((await countWebhooks(tx, tenant.orgId)) >= deps.perOrganization) {
          const facts = { limit: deps.perOrganization };
          throw new AppError("limit_reached", "The organization's limit of webhooks is reached", { facts });
        }
        await requireExisting(tx, tenant.orgId, fields);
        const row = await insertWebhook(tx, box, uuidv7(at.getTime()), owner, { ...fields, shownUrl: shown }, at);
        record(tx, context, row, "webhook.create", { changes: { before: {}, after: auditedFields(row) } }, at);
        return { webhook: webhookMessage(row) };
      });
      await earlierPosts(deps.intake);
      return reply;
    },

    async deleteWebhook({ id }, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const at = now();
      const found = await db.tx(context, async (tx) => {
        if (isUuid(id)) await holdOrganizationOf(tx, context, id);
        const stored = isUuid(id) ? await lockWebhook(tx, context, id) : null;
        if (!stored) return false;
        await markDeleted(tx, stored.id, at);
        record(tx, context, stored, "webhook.delete", { changes: { before: auditedFields(stored), after: {} } }, at);
        return true;
      });
      if (!found) throw webhookNotFound();
      return {};
    },
  };
}

function changes(deps: WebhookDeps): Pick<Handlers, "updateWebhook"> {
  const { db, now, box } = deps;
  return {
    async updateWebhook({ id, updateMask, change }, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const paths = updateMask?.paths ?? [];
      const wanted = change ?? create(WebhookChangeSchema);
      // A URL as replies show it, sent back, leaves the stored one with its credentials unchanged.
      const current = isUuid(id) ? await findWebhook(db, context, id) : null;
      if (!current) throw webhookNotFound();
      const requested =
        paths.includes("url") && wanted.url !== current.url_shown ? paths : paths.filter((p) => p !== "url");
      const urlKept = paths.includes("url") && requested.length < paths.length;
      const shown = requested.includes("url") ? await validatedUrl(deps, wanted.url) : null;
      const at = now();
      const updated = await db.tx(context, async (tx) => {
        await holdOrganization(tx, current.org_id);
        const stored = await lockWebhook(tx, context, current.id);
        if (!stored) return null;
        const before = openFields(box, stored);
        const after = changeWebhook(
          before,
          urlKept ? [...requested, "url"] : requested,
          {
            ...wanted,
            url: urlKept ? before.url : wanted.url,
          },
          deps,
        );
        await requireExisting(tx, stored.org_id, {
          events: requested.includes("events") ? after.events : [],
          filter: requested.includes("filter") ? after.filter : null,
        });
        const set = { statusSet: requested.includes("status"), secretSet: requested.includes("secret") };
        const row = await updateWebhook(tx, box, stored, { ...after, shownUrl: shown ?? stored.url_shown }, set, at);
        const details = differences(auditedFields(stored), auditedFields(row), {
          ...(before.secret === after.secret ? {} : { secret: "***" }),
          ...(before.url === after.url ? {} : { url: row.url_shown }),
          ...(isDeepStrictEqual(before.headers, after.headers) ? {} : { headers: row.header_names }),
        });
        const moved = originChanges(before, after) ? { originChanged: true } : {};
        record(tx, context, row, "webhook.update", { ...details, ...moved }, at);
        return row;
      });
      if (!updated) throw webhookNotFound();
      deps.wake();
      await earlierPosts(deps.intake);
      return { webhook: webhookMessage(updated, current) };
    },
  };
}

function revealing({ db, box, now }: WebhookDeps): Pick<Handlers, "revealWebhookSecret"> {
  return {
    async revealWebhookSecret({ id }, handler) {
      const context = callContext(handler);
      requireRevealer(context);
      // Not locked: whoever may only read cannot.
      const stored = isUuid(id) ? await findWebhook(db, context, id) : null;
      if (!stored) throw webhookNotFound();
      const hasSecret = stored.secret_sealed !== null;
      await db.tx(context, async (tx) => record(tx, context, stored, "webhook.reveal_secret", { hasSecret }, now()));
      return { secret: openFields(box, stored).secret ?? "" };
    },
  };
}

function reads(deps: WebhookDeps): Pick<Handlers, "listWebhooks" | "getWebhook"> {
  const { db, now } = deps;
  return {
    async listWebhooks(request, handler) {
      const context = callContext(handler);
      requireReader(context);
      const status = statusFilter(request.status);
      const { search } = request;
      const orgId = request.everywhere ? null : await listedOrganization(deps, context, request.orgId);
      const { rows, info } = await listWebhooks(db, context, { orgId, status, search }, clampPage(request.page ?? {}));
      return { webhooks: rows.map((row) => webhookMessage(row, row, healthOf(row, deps.health, now()))), page: info };
    },

    async getWebhook({ id }, handler) {
      const context = callContext(handler);
      requireReader(context);
      const row = isUuid(id) ? await findWebhook(db, context, id) : null;
      if (!row) throw webhookNotFound();
      const queued = await queuedCounts(db, context, row.id);
      const { success_count: delivered, failure_count: failed } = row;
      const stats = {
        total: BigInt(queued.pending + queued.retrying + delivered + failed),
        pending: BigInt(queued.pending),
        retrying: BigInt(queued.retrying),
        delivered: BigInt(delivered),
        failed: BigInt(failed),
        ...(row.last_success_at ? { lastDeliveredAt: timestampFromDate(row.last_success_at) } : {}),
      };
      const health = healthMessage(row.status, await webhookHealth(db, context, row.id), now());
      return { webhook: webhookMessage(row, row, healthOf(row, deps.health, now())), stats, health };
    },
  };
}

/**
 * Requires what a subscription names: own types of the organization, and its sites. Throws `unknown_event_type`,
 * `validation_failed`.
 */
async function requireExisting(
  tx: Tx,
  orgId: string,
  { events, filter }: Pick<WebhookFields, "events" | "filter">,
): Promise<void> {
  const unknown = await unknownEventTypes(tx, orgId, events.filter(isCustomEventType));
  if (unknown.length > 0) throw unknownEventType(unknown);
  const siteIds = filter?.siteIds ?? [];
  const foreign = await foreignSites(tx, orgId, siteIds);
  const errors = siteIds.flatMap((id, index) =>
    foreign.has(id) ? [[`filter.siteIds.${index}`, ["Not a site of the organization"]]] : [],
  );
  if (errors.length > 0) throw validationError(Object.fromEntries(errors));
}

/**
 * Validates a URL and the addresses of its name; returns it as users may see it. Throws `invalid_webhook_url` with the
 * reason.
 */
async function validatedUrl({ egress }: WebhookDeps, url: string): Promise<string> {
  try {
    await egress.check(url);
    return shownUrl(url);
  } catch (error) {
    if (!(error instanceof EgressRefused)) throw error;
    throw new AppError("invalid_webhook_url", "Invalid webhook URL", {
      facts: { reason: error.reason, reasonText: error.message },
      cause: error,
    });
  }
}

function statusFilter(text: string): StoredStatus | null {
  if (text === "") return null;
  if (!Object.hasOwn(statuses, text)) throw validationError({ status: [`One of ${Object.keys(statuses).join(", ")}`] });
  return statuses[text as keyof typeof statuses];
}

function differences(
  before: Record<string, unknown>,
  after: Record<string, unknown>,
  hidden: Record<string, unknown>,
): Record<string, unknown> {
  const differing = Object.keys(after).filter((key) => !isDeepStrictEqual(before[key], after[key]));
  const changedFields = [...new Set([...differing, ...Object.keys(hidden)])];
  const pick = (of: Record<string, unknown>) =>
    Object.fromEntries(changedFields.filter((key) => key in of).map((key) => [key, of[key]]));
  return { changedFields, changes: { before: pick(before), after: pick({ ...after, ...hidden }) } };
}
