import type { EventLog, FollowLiveEventsResponse, LiveEvent } from "@muster/proto/muster/devicelogs/v1/live_pb";
import { z } from "zod";
import type { PublicCode } from "../../errors.ts";
import { streamedLines } from "../../http/json-lines.ts";
import { type Route, route } from "../../route/route.ts";
import { id, listQuery, only, pageOf, pagination, timeIn } from "../fields/schemas.ts";
import { secondsIn, streamed } from "./device-changes.ts";

const tag = "Live event logs";
const access = { auth: "session", permission: "devices:read", keyScopes: ["logs:read"] } as const;
const common = { method: "GET", access, tag, deadline: "live" } as const;
const errors: readonly PublicCode[] = [
  "device_not_found",
  "device_offline",
  "device_timeout",
  "device_error",
  "device_busy",
];
const logErrors: readonly PublicCode[] = [...errors, "event_log_not_found"];

const level = z.enum(["information", "warning", "error", "critical", "verbose"]);
const name = z.string().min(1).max(500).meta({ description: "Name of the log, ignoring case; slashes are encoded." });

const eventLog = z
  .object({
    name: z.string(),
    displayName: z.string(),
    recordCount: z.int(),
    maxSize: z.int().meta({ description: "Maximum size of the log, in bytes." }),
    retentionDays: z.int(),
    lastWriteTime: z.string(),
  })
  .meta({ id: "EventLog" });

const liveEvent = z
  .object({
    recordId: z.int(),
    timeCreated: z.string(),
    level,
    source: z.string(),
    eventId: z.int(),
    message: z.string(),
    category: z.string(),
    user: z.string().nullable(),
    computer: z.string(),
    rawXml: z.string().nullable(),
  })
  .meta({ id: "LiveEvent" });

const eventsQuery = listQuery.omit({ cursor: true, skipCount: true }).extend({
  level: level.optional().meta({ description: only.equal }),
  source: z.string().max(255).optional().meta({ description: only.equal }),
  startTime: timeIn.optional(),
  endTime: timeIn.optional(),
  eventId: z
    .string()
    .regex(/^\d{1,10}$/, "Must be a number")
    .optional()
    .meta({ description: only.equal }),
});

const recordId = z
  .string()
  .regex(/^\d{1,15}$/, "Must be a number")
  .meta({ description: "Number of the record in its log.", example: "4213" });

/** Where the live routes lie: their path, and the name of the parameter that holds the device's id. */
type Family = { path: string; device: "id" | "deviceId" };

/** The live routes below one path: under `/system-tools/devices/…` and twice under `/devices/…`. */
function family(path: string, device: Family["device"], withList: boolean): Route[] {
  const own = [logRoute({ path, device }), eventsRoute({ path, device }), eventRoute({ path, device })];
  return withList ? [logsRoute({ path, device }), ...own] : own;
}

const idsIn = ({ device }: Family, params: Record<string, unknown>) => ({
  deviceId: String(params[device]),
  name: String(params.name),
  recordId: String(params.recordId),
});

function logsRoute(family: Family): Route {
  return route({
    ...common,
    path: family.path,
    summary: "Event logs on the device now",
    params: z.object({ [family.device]: id }),
    reply: z.object({ data: z.array(eventLog) }),
    errors,
    async handle({ params, rpc }, { services }) {
      const { deviceId } = idsIn(family, params);
      const { logs } = await services.liveLogs.listEventLogs({ deviceId }, await rpc());
      return { data: logs.map(eventLogOf) };
    },
  });
}

function logRoute(family: Family): Route {
  return route({
    ...common,
    path: `${family.path}/:name`,
    slashes: ["name"],
    summary: "One event log on the device now",
    params: z.object({ [family.device]: id, name }),
    reply: eventLog,
    errors: logErrors,
    async handle({ params, rpc }, { services }) {
      const { deviceId, name } = idsIn(family, params);
      return eventLogOf((await services.liveLogs.getEventLog({ deviceId, name }, await rpc())).log);
    },
  });
}

function eventsRoute(family: Family): Route {
  return route({
    ...common,
    path: `${family.path}/:name/events`,
    slashes: ["name"],
    summary: "Events of a log on the device now, newest first",
    description: "Filters and paging run on the device, which has no cursors: `nextCursor` is always null.",
    params: z.object({ [family.device]: id, name }),
    query: eventsQuery,
    reply: z.object({ data: z.array(liveEvent), pagination }),
    errors: logErrors,
    async handle({ params, query, rpc }, { services }) {
      const { deviceId, name } = idsIn(family, params);
      const { page, limit } = pageOf(query);
      const wanted = {
        deviceId,
        name,
        page,
        limit,
        level: query.level ?? "",
        source: query.source ?? "",
        startTime: instantOf(query.startTime),
        endTime: instantOf(query.endTime),
        ...(query.eventId === undefined ? {} : { eventId: BigInt(query.eventId) }),
      };
      const reply = await services.liveLogs.listLiveEvents(wanted, await rpc());
      const shown = { page: reply.page, limit: reply.limit, total: Number(reply.total), nextCursor: null };
      return { data: reply.events.map(liveEventOf), pagination: shown };
    },
  });
}

function eventRoute(family: Family): Route {
  return route({
    ...common,
    path: `${family.path}/:name/events/:recordId`,
    slashes: ["name"],
    summary: "One event of a log on the device now",
    params: z.object({ [family.device]: id, name, recordId }),
    reply: liveEvent,
    errors: [...logErrors, "event_log_entry_not_found"],
    async handle({ params, rpc }, { services }) {
      const { recordId: record, ...log } = idsIn(family, params);
      const wanted = { ...log, recordId: BigInt(record) };
      return liveEventOf((await services.liveLogs.getLiveEvent(wanted, await rpc())).event);
    },
  });
}

const follow = route({
  ...common,
  path: "/devices/:id/eventlogs/:name/follow",
  slashes: ["name"],
  summary: "Follow a log on the device",
  description:
    'JSON lines. The first line is `{"kind": "following"}`, once the device has answered. ' +
    '`{"kind": "event", "event"}` for each event, oldest first; `{"kind": "skipped"}` where more events occurred between two queries than one query ' +
    'returns. `{"kind": "alive"}` after 15 s of silence. `{"kind": "error", "code", "error"}` when the device no longer answers. The device is ' +
    "queried every two seconds; the stream is one audit row, `data.access`. It ends after `seconds`, and within a second when the caller's session " +
    "ends or their rights change.",
  params: z.object({ id, name }),
  query: eventsQuery.pick({ level: true, source: true, eventId: true }).extend({
    after: z
      .string()
      .regex(/^\d{1,15}$/, "Must be a number")
      .optional()
      .meta({ description: "Number of the newest record that the client has; without it, the log's newest record." }),
    seconds: secondsIn,
  }),
  ...streamed,
  errors: logErrors,
  async handle(request, { services }) {
    const { params, query, rpc } = request;
    const wanted = {
      deviceId: params.id,
      name: params.name,
      level: query.level ?? "",
      source: query.source ?? "",
      ...(query.eventId === undefined ? {} : { eventId: BigInt(query.eventId) }),
      ...(query.after === undefined ? {} : { afterRecordId: BigInt(query.after) }),
    };
    const { signal, ...options } = await rpc();
    const leaving = new AbortController();
    const signals = signal ? [signal, leaving.signal] : [leaving.signal];
    const call = services.liveLogs.followLiveEvents(wanted, { ...options, signal: AbortSignal.any(signals) });
    const answers = call[Symbol.asyncIterator]();
    // A refusal by the device has an HTTP status.
    const first = await answers.next();
    if (first.done) throw new Error("device-logs followed nothing");
    return streamedLines(
      request,
      query.seconds,
      followed(first.value, answers, () => leaving.abort()),
    );
  },
});

type Answers = AsyncIterator<FollowLiveEventsResponse>;

/** Lines of the followed log; `leave` ends the query, since a Connect stream cannot be ended by other means. */
function followed(first: FollowLiveEventsResponse, more: Answers, leave: () => void) {
  const lines = followedLines(first, more);
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => lines.next(),
      // Also called when nothing was read yet: the device is queried until then.
      return() {
        leave();
        return lines.return(undefined);
      },
    }),
  };
}

async function* followedLines(first: FollowLiveEventsResponse, more: Answers) {
  yield { kind: "following" };
  for (let answer = first; ; ) {
    if (answer.skipped) yield { kind: "skipped" };
    for (const event of answer.events) yield { kind: "event", event: liveEventOf(event) };
    if (answer.events.length === 0) yield null;
    const next = await more.next();
    if (next.done) return;
    answer = next.value;
  }
}

/** As agents read it: UTC with milliseconds, also what came as a day or with an offset; empty when absent. */
const instantOf = (text: string | undefined): string => (text === undefined ? "" : new Date(text).toISOString());

function eventLogOf(log: EventLog | undefined): z.input<typeof eventLog> {
  if (!log) throw new Error("device-logs answered without an event log");
  return {
    name: log.name,
    displayName: log.displayName,
    recordCount: Number(log.recordCount),
    maxSize: Number(log.maxSize),
    retentionDays: Number(log.retentionDays),
    lastWriteTime: log.lastWriteTime,
  };
}

function liveEventOf(event: LiveEvent | undefined): z.input<typeof liveEvent> {
  if (!event) throw new Error("device-logs answered without an event");
  return {
    recordId: Number(event.recordId),
    timeCreated: event.timeCreated,
    level: level.parse(event.level),
    source: event.source,
    eventId: Number(event.eventId),
    message: event.message,
    category: event.category,
    user: event.user ?? null,
    computer: event.computer,
    rawXml: event.rawXml ?? null,
  };
}

export const liveLogRoutes: readonly Route[] = [
  ...family("/system-tools/devices/:deviceId/eventlogs", "deviceId", true),
  ...family("/devices/:id/system-tools/eventlogs", "id", true),
  // The bare list below /devices/:id is the stored one.
  ...family("/devices/:id/eventlogs", "id", false),
  follow,
];
