/** Descriptor of an event log, as agents return it (docs/agent-channel.md). */
export type EventLog = {
  name: string;
  displayName: string;
  recordCount: number;
  maxSize: number;
  retentionDays: number;
  lastWriteTime: string;
};

export type LiveEvent = {
  recordId: number;
  timeCreated: string;
  level: "information" | "warning" | "error" | "critical" | "verbose";
  source: string;
  eventId: number;
  message: string;
  category: string;
  user: string | null;
  computer: string;
  rawXml?: string;
};

export type EventFilter = {
  page: number;
  limit: number;
  level?: string;
  source?: string;
  startTime?: string;
  endTime?: string;
  eventId?: number;
};

/** The event logs of a device. Each read ends when its signal aborts: its caller has disconnected. */
export type EventStore = {
  logs(signal?: AbortSignal): EventLog[] | Promise<EventLog[]>;
  /** A log by its name, ignoring case; null when there is no such log. */
  log(name: string, signal?: AbortSignal): EventLog | null | Promise<EventLog | null>;
  /** A page, newest first, and how many match; null when there is no such log. */
  events(name: string, filter: EventFilter, signal?: AbortSignal): EventPage | null | Promise<EventPage | null>;
  /** Null when there is no such log, undefined when it has no such record. */
  event(
    name: string,
    recordId: number,
    signal?: AbortSignal,
  ): LiveEvent | null | undefined | Promise<LiveEvent | null | undefined>;
};

export type EventPage = { events: LiveEvent[]; total: number };

/** `code` is an error code of docs/agent-channel.md. */
export type Answer = { reply: unknown } | { code: string };

/** What the agent answers to an operation; an error code for unknown logs, records and operations. */
export async function answerOf(
  store: EventStore,
  operation: string,
  params: Record<string, unknown>,
  signal?: AbortSignal,
): Promise<Answer> {
  const name = String(params.name ?? "");
  switch (operation) {
    case "eventlogs.list":
      return { reply: { logs: await store.logs(signal) } };
    case "eventlogs.get": {
      const log = await store.log(name, signal);
      return log ? { reply: { log } } : { code: "event_log_not_found" };
    }
    case "eventlogs.events": {
      const found = await store.events(name, params as unknown as EventFilter, signal);
      return found ? { reply: found } : { code: "event_log_not_found" };
    }
    case "eventlogs.event": {
      const event = await store.event(name, Number(params.recordId), signal);
      if (event === null) return { code: "event_log_not_found" };
      return event ? { reply: { event } } : { code: "event_log_entry_not_found" };
    }
    default:
      return { code: "unsupported_operation" };
  }
}
