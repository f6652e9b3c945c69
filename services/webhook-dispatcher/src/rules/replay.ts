import { createHash } from "node:crypto";
import { AppError, type FieldErrors, isCustomEventType, isEventType, validationError } from "@muster/kit";

export const replayStatuses = ["failed", "delivered", "all", "missing"] as const;
export type ReplayStatus = (typeof replayStatuses)[number];

export type ReplayWanted = { since: Date; until: Date; status: ReplayStatus; events: string[] };

export type ReplayInput = { since: Date | null; until: Date | null; status: string; events: readonly string[] };

const maxEvents = 100;

/**
 * The deliveries that a replay selects: those created in [since, until). Throws `validation_failed`,
 * `unknown_event_type`.
 */
export function replayWanted(input: ReplayInput, now: Date): ReplayWanted {
  const errors: FieldErrors = {};
  const status = replayStatuses.find((each) => each === (input.status || "failed"));
  if (!status) errors.deliveryStatus = [`One of ${replayStatuses.join(", ")}`];
  if (!input.since) errors.since = ["Required"];
  // Never beyond now: a replay does not find its own deliveries.
  const until = new Date(Math.min((input.until ?? now).getTime(), now.getTime()));
  if (input.since && input.since >= until) errors.since = ["Must be before until, and in the past"];
  const events = [...new Set(input.events)];
  if (events.length > maxEvents) errors.events = [`At most ${maxEvents}`];
  if (Object.keys(errors).length > 0 || !input.since || !status) throw validationError(errors);
  const unknown = events.filter((type) => !isEventType(type) && !isCustomEventType(type));
  if (unknown.length > 0) {
    throw new AppError("unknown_event_type", "Unknown event type", { facts: { types: unknown.slice(0, 20) } });
  }
  // No delivery is older, and PostgreSQL refuses times that are too early.
  return { since: new Date(Math.max(0, input.since.getTime())), until, status, events };
}

/** UUIDv5 of replay and event: an event is queued once, however often it failed or its chunk is started. */
export function replayedId(replayId: string, eventId: string): string {
  const digest = createHash("sha1").update(`${replayId}/${eventId}`).digest();
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = digest.toString("hex", 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
