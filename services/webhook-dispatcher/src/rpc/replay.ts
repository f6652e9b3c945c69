import { create } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { AppError, type CallContext, clampPage, isUuid, uuidv7 } from "@muster/kit";
import { type Replay, ReplaySchema, ReplayService } from "@muster/proto/muster/webhook/v1/replay_pb";
import { callContext } from "@muster/rpc";
import { idempotentTx, type TenantReader } from "@muster/service";
import { replayWanted } from "../rules/replay.ts";
import { countReplay } from "../store/replayed.ts";
import {
  cancelReplay,
  findReplay,
  insertReplay,
  listReplays,
  maxOpenReplays,
  type ReplayOutcomes,
  type ReplayRow,
} from "../store/replays.ts";
import { findWebhook, lockWebhook, type WebhookRow } from "../store/webhooks.ts";
import { requireDeliveryReader, requireReader, requireWriter, webhookNotFound } from "./guards.ts";
import { record } from "./record.ts";

/** Replays: events of past deliveries are sent to their webhook again. */
export function replayService(
  deps: TenantReader & { now: () => Date; wake: () => void },
): ServiceImpl<typeof ReplayService> {
  const { db, now } = deps;

  const found = async (context: CallContext, id: string): Promise<string> => {
    const webhook = isUuid(id) ? await findWebhook(db, context, id) : null;
    if (!webhook) throw webhookNotFound();
    return webhook.id;
  };

  return {
    async startReplay(request, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const at = now();
      const { since, until, status, events } = request;
      const wanted = replayWanted(
        { since: since ? timestampDate(since) : null, until: until ? timestampDate(until) : null, status, events },
        at,
      );
      const lock = async (tx: Tx): Promise<WebhookRow> => {
        const webhook = isUuid(request.webhookId) ? await lockWebhook(tx, context, request.webhookId) : null;
        if (!webhook) throw webhookNotFound();
        return webhook;
      };
      const { startReplay } = ReplayService.method;
      const started = await idempotentTx(db, context, startReplay, request, lock, async (tx, webhook) => {
        const row = await insertReplay(tx, uuidv7(at.getTime()), webhook, wanted, context.caller.actor.id, at);
        if (!row) {
          const facts = { limit: maxOpenReplays };
          throw new AppError("limit_reached", "Too many replays of this webhook have not ended", { facts });
        }
        const selected = { since: row.since, until: row.until, status: row.status_filter, events: row.events };
        record(tx, context, webhook, "webhook.replay", { replayId: row.id, ...selected }, at);
        return { replay: replayMessage(row) };
      });
      deps.wake();
      return started;
    },

    ...counting(deps),

    async listReplays(request, handler) {
      const context = callContext(handler);
      requireReader(context);
      const webhookId = await found(context, request.webhookId);
      const { rows, info } = await listReplays(db, context, webhookId, clampPage(request.page ?? {}));
      return { replays: rows.map((row) => replayMessage(row)), page: info };
    },

    async getReplay({ webhookId, id }, handler) {
      const context = callContext(handler);
      requireReader(context);
      const own = await found(context, webhookId);
      const row = isUuid(id) ? await findReplay(db, context, own, id) : null;
      if (!row) throw replayNotFound();
      return { replay: replayMessage(row, row) };
    },

    async cancelReplay({ webhookId, id }, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const at = now();
      const replay = await db.tx(context, async (tx) => {
        const webhook = isUuid(webhookId) ? await lockWebhook(tx, context, webhookId) : null;
        if (!webhook) throw webhookNotFound();
        const cancelled = isUuid(id) ? await cancelReplay(tx, context, webhook.id, id, at) : null;
        if (!cancelled) throw replayNotFound();
        if (!cancelled.ended) {
          const { row } = cancelled;
          record(tx, context, webhook, "webhook.replay.cancel", { replayId: row.id, queued: row.queued }, at);
        }
        return replayMessage(cancelled.row);
      });
      return { replay };
    },
  };
}

/** How many events a replay would queue. */
function counting({
  db,
  now,
}: TenantReader & { now: () => Date }): Pick<ServiceImpl<typeof ReplayService>, "countReplay"> {
  return {
    async countReplay(request, handler) {
      const context = callContext(handler);
      requireDeliveryReader(context);
      const { since, until, status, events } = request;
      const range = { since: since ? timestampDate(since) : null, until: until ? timestampDate(until) : null };
      const { status: wantedStatus, ...wanted } = replayWanted({ ...range, status, events }, now());
      const webhook = isUuid(request.webhookId) ? await findWebhook(db, context, request.webhookId) : null;
      if (!webhook) throw webhookNotFound();
      const of = { webhook_id: webhook.id, org_id: webhook.org_id, position_at: null, position_id: null };
      const selection = { ...of, ...wanted, status_filter: wantedStatus };
      const { count, countedUntil } = await db.tx(context, (tx) => countReplay(tx, selection), { readOnly: true });
      return { count: BigInt(count), ...(countedUntil ? { countedUntil: timestampFromDate(countedUntil) } : {}) };
    },
  };
}

const replayNotFound = () => new AppError("replay_not_found", "Replay not found");

function replayMessage(row: ReplayRow, outcomes?: ReplayOutcomes): Replay {
  return create(ReplaySchema, {
    id: row.id,
    webhookId: row.webhook_id,
    orgId: row.org_id,
    state: row.state,
    since: timestampFromDate(row.since),
    until: timestampFromDate(row.until),
    status: row.status_filter,
    events: row.events,
    ...(row.position_at ? { position: timestampFromDate(row.position_at) } : {}),
    queued: BigInt(row.queued),
    skipped: BigInt(row.skipped),
    ...(outcomes ? { outcomes: outcomesOf(outcomes) } : {}),
    createdBy: row.created_by,
    createdAt: timestampFromDate(row.created_at),
    ...(row.finished_at ? { finishedAt: timestampFromDate(row.finished_at) } : {}),
  });
}

function outcomesOf({ pending, retrying, delivered, failed }: ReplayOutcomes) {
  return {
    pending: BigInt(pending),
    retrying: BigInt(retrying),
    delivered: BigInt(delivered),
    failed: BigInt(failed),
  };
}
