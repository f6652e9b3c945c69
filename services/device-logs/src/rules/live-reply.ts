import { z } from "zod";
import { deviceError } from "./device-error.ts";

// What agents answer (docs/agent-channel.md). Anything else is an error of the device: `device_error`.
const whole = z.int().min(0);
const text = z.string().max(1_048_576);

const eventLog = z.object({
  name: z.string().min(1).max(512),
  displayName: z.string().max(512),
  recordCount: whole,
  maxSize: whole,
  retentionDays: whole,
  lastWriteTime: z.string().max(64),
});

const liveEvent = z.object({
  recordId: whole,
  timeCreated: z.string().max(64),
  level: z.enum(["information", "warning", "error", "critical", "verbose"]),
  source: z.string().max(512),
  eventId: whole,
  message: text,
  category: z.string().max(512),
  user: z.string().max(512).nullish(),
  computer: z.string().max(512),
  rawXml: text.nullish(),
});

export type EventLogReply = z.output<typeof eventLog>;
export type LiveEventReply = z.output<typeof liveEvent>;

const shapes = {
  list: z.object({ logs: z.array(eventLog).max(5_000) }),
  get: z.object({ log: eventLog }),
  events: z.object({ events: z.array(liveEvent).max(100), total: whole }),
  event: z.object({ event: liveEvent }),
};

export const liveEventLevels = liveEvent.shape.level.options;

export function readLogs(bytes: Uint8Array): EventLogReply[] {
  return read(shapes.list, bytes).logs;
}

export function readLog(bytes: Uint8Array): EventLogReply {
  return read(shapes.get, bytes).log;
}

export function readLiveEvents(bytes: Uint8Array): { events: LiveEventReply[]; total: number } {
  return read(shapes.events, bytes);
}

export function readEvent(bytes: Uint8Array): LiveEventReply {
  return read(shapes.event, bytes).event;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function read<S extends z.ZodType>(shape: S, bytes: Uint8Array): z.output<S> {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes));
  } catch (cause) {
    throw deviceError("Device answered with something that cannot be read", cause);
  }
  const parsed = shape.safeParse(value);
  if (!parsed.success) throw deviceError("Device answered with something that cannot be read", parsed.error);
  return parsed.data;
}
