import type { Replay } from "@muster/proto/muster/webhook/v1/replay_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import {
  id,
  idOut,
  idParams,
  listQuery,
  pageOf,
  pagination,
  paginationOf,
  success,
  timeIn,
  timeOf,
  timeOrNull,
  timeOut,
  timestampOf,
} from "../fields/schemas.ts";
import { sentTypes } from "./delivery-fields.ts";
import { eventNameIn } from "./event-names.ts";

const tag = "Webhooks";

const state = z.enum(["queued", "running", "done", "cancelled"]);
const wanted = z.enum(["failed", "delivered", "all", "missing"]);

const replay = z
  .object({
    id: idOut,
    webhookId: idOut,
    orgId: idOut,
    status: state,
    since: timeOut,
    until: timeOut,
    deliveryStatus: wanted.meta({ description: "Outcome of the deliveries that are sent again." }),
    events: z.array(z.string()).meta({ description: "Event types that are sent again; empty for any type." }),
    position: timeOut
      .nullable()
      .meta({ description: "Time between `since` and `until` up to which deliveries have been queued." }),
    queued: z.int().meta({ description: "Deliveries queued again so far." }),
    skipped: z.int().meta({
      description: "Matching deliveries whose event was already queued, or whose payload is no longer stored.",
    }),
    createdBy: idOut,
    createdAt: timeOut,
    finishedAt: timeOut.nullable(),
  })
  .meta({ id: "WebhookReplay" });

const counted = z
  .object({
    dryRun: z.literal(true),
    count: z.int().meta({ description: "Events that the replay would queue." }),
    countedUntil: timeOut.nullable().meta({
      description: "The oldest 20,000 rows were read, up to this time; null when all were.",
    }),
  })
  .meta({ id: "WebhookReplayCount" });

const outcomes = z.object({ pending: z.int(), retrying: z.int(), delivered: z.int(), failed: z.int() });
const params = z.object({ id, replayId: id });

const read = { auth: "session", permission: "webhooks:read", keyScopes: ["webhooks:read"] } as const;
const write = { auth: "session", permission: "webhooks:write", keyScopes: ["webhooks:write"] } as const;
const seen = { ...read, portal: "view" } as const;

const start = route({
  method: "POST",
  path: "/webhooks/:id/replay",
  audit: "webhook.replay",
  access: { ...write, portal: "resend_deliveries" },
  tag,
  summary: "Send earlier deliveries of a webhook again",
  description:
    "Runs in the background, a few at a time, so that live deliveries are not delayed. Each event is queued once, as a new delivery with the event's own id.",
  params: idParams,
  body: z.object({
    since: timeIn,
    until: timeIn
      .optional()
      .meta({ description: "Only deliveries queued before this time; without it, the time of the request." }),
    deliveryStatus: wanted.optional().meta({
      description:
        "Outcome of the deliveries to send again; `missing`: events without a delivery, such as those from before the webhook existed or while it was paused.",
      default: "failed",
    }),
    events: z
      .array(eventNameIn(sentTypes))
      .max(100)
      .optional()
      .meta({ description: "Event types to send again; empty for any type.", default: [] }),
    dryRun: z.boolean().optional().meta({ description: "Only count the events, and queue nothing.", default: false }),
  }),
  example: { since: "2020-01-01" },
  status: 202,
  idempotent: true,
  reply: z.union([replay, counted]),
  errors: ["webhook_not_found", "unknown_event_type", "limit_reached", "site_restricted"],
  async handle({ params: { id: webhookId }, body, rpc }, { services }) {
    const request = {
      webhookId,
      since: timestampOf(body.since),
      until: timestampOf(body.until),
      status: body.deliveryStatus ?? "",
      events: body.events ?? [],
    };
    if (!body.dryRun) return replayOf((await services.replays.startReplay(request, await rpc())).replay);
    const { count, countedUntil } = await services.replays.countReplay(request, await rpc());
    return { dryRun: true as const, count: Number(count), countedUntil: timeOrNull(countedUntil) };
  },
});

const list = route({
  method: "GET",
  path: "/webhooks/:id/replays",
  access: seen,
  tag,
  summary: "Replays of a webhook, newest first",
  params: idParams,
  query: listQuery,
  reply: z.object({ data: z.array(replay), pagination }),
  errors: ["webhook_not_found"],
  async handle({ params: { id: webhookId }, query, rpc }, { services }) {
    const reply = await services.replays.listReplays({ webhookId, page: pageOf(query) }, await rpc());
    return { data: reply.replays.map(replayOf), pagination: paginationOf(reply.page) };
  },
});

const get = route({
  method: "GET",
  path: "/webhooks/:id/replays/:replayId",
  access: seen,
  tag,
  summary: "One replay with the outcomes of its deliveries",
  params,
  reply: replay.extend({ outcomes }),
  errors: ["webhook_not_found", "replay_not_found"],
  async handle({ params: { id: webhookId, replayId }, rpc }, { services }) {
    const { replay: found } = await services.replays.getReplay({ webhookId, id: replayId }, await rpc());
    const { pending = 0n, retrying = 0n, delivered = 0n, failed = 0n } = found?.outcomes ?? {};
    return {
      ...replayOf(found),
      outcomes: {
        pending: Number(pending),
        retrying: Number(retrying),
        delivered: Number(delivered),
        failed: Number(failed),
      },
    };
  },
});

const cancel = route({
  method: "DELETE",
  path: "/webhooks/:id/replays/:replayId",
  audit: "webhook.replay.cancel",
  access: { ...write, portal: "resend_deliveries" },
  tag,
  summary: "Cancel a replay",
  description:
    "Queues nothing more and drops pending deliveries; requests in flight are completed. An ended replay stays unchanged.",
  params,
  reply: success,
  errors: ["webhook_not_found", "replay_not_found", "site_restricted"],
  async handle({ params: { id: webhookId, replayId }, rpc }, { services }) {
    await services.replays.cancelReplay({ webhookId, id: replayId }, await rpc());
    return { success: true as const };
  },
});

function replayOf(message: Replay | undefined): z.input<typeof replay> {
  if (!message) throw new Error("the dispatcher answered without a replay");
  return {
    id: message.id,
    webhookId: message.webhookId,
    orgId: message.orgId,
    status: state.parse(message.state),
    since: timeOf(message.since),
    until: timeOf(message.until),
    deliveryStatus: wanted.parse(message.status),
    events: message.events,
    position: timeOrNull(message.position),
    queued: Number(message.queued),
    skipped: Number(message.skipped),
    createdBy: message.createdBy,
    createdAt: timeOf(message.createdAt),
    finishedAt: timeOrNull(message.finishedAt),
  };
}

export const webhookReplayRoutes: readonly Route[] = [start, list, get, cancel];
