import {
  AppError,
  type FieldErrors,
  isCustomEventType,
  isEventPattern,
  isEventType,
  isUuid,
  maxRequestHeaders,
  nameError,
  type RequestHeader,
  requestHeaderErrors,
  signingSecretError,
  validationError,
} from "@muster/kit";
import { type EventFilter, filterOf } from "./event-filter.ts";
import { type RetrySchedule, type RetryScheduleInput, retryScheduleError, retryScheduleOf } from "./retry-schedule.ts";

export type Header = RequestHeader;

/** The API's names of a webhook's states, and the stored ones. */
export const statuses = { active: "active", paused: "disabled", failed: "error" } as const;
export type Status = keyof typeof statuses;
export type StoredStatus = (typeof statuses)[Status];

/** Fields of a webhook that users set; secrets in clear. */
export type WebhookFields = {
  name: string;
  url: string;
  /** Null: requests are not signed. */
  secret: string | null;
  events: string[];
  headers: Header[];
  status: StoredStatus;
  /** One request at a time, in the order of the events. */
  ordered: boolean;
  retrySchedule: RetrySchedule;
  /** Requests are also signed with ed25519, as v1a. */
  asymmetricSignature: boolean;
  /** Which events of its types it gets; null: all. */
  filter: EventFilter | null;
  /** Users who get mails about its health; null: who made it. */
  notifyUserIds: readonly string[] | null;
};

export type WebhookInput = {
  name: string;
  url: string;
  secret: string;
  events: readonly string[];
  headers: readonly Header[];
  status: string;
  ordered: boolean;
  retrySchedule?: RetryScheduleInput | undefined;
  asymmetricSignature?: boolean | undefined;
  filter?: EventFilter | undefined;
  notifiedUsers?: { userIds: readonly string[] } | undefined;
};

export type WebhookLimits = {
  /** Days for which payloads are kept: longer than the last retry waits. */
  retentionDays: number;
};

/** Paths of an update mask. */
export const webhookPaths = [
  "name",
  "url",
  "secret",
  "events",
  "headers",
  "status",
  "ordered",
  "retrySchedule",
  "asymmetricSignature",
  "filter",
  "notifyUserIds",
] as const;

/** Replaces header values in replies; when a client sends it back, the stored value is kept. */
export const maskedValue = "***";
export const anyEvent = "*";
const maxNotifiedUsers = 20;

/**
 * The fields of a new webhook. Throws `validation_failed` naming each bad field, `unknown_event_type`. The URL is
 * validated elsewhere.
 */
export function newWebhook(input: Omit<WebhookInput, "status">, limits: WebhookLimits): WebhookFields {
  const errors: FieldErrors = {};
  const fields: WebhookFields = {
    name: nameOf(input.name, errors),
    url: input.url,
    secret: secretOf(input.secret, errors),
    events: eventsOf(input.events, errors),
    headers: headersOf(input.headers, [], errors),
    status: "active",
    ordered: input.ordered,
    retrySchedule: retryScheduleOf(input.retrySchedule, errors),
    asymmetricSignature: input.asymmetricSignature ?? false,
    filter: filterOf(input.filter, errors),
    notifyUserIds: notifiedOf(input.notifiedUsers, errors),
  };
  requireRetryable(fields, limits, errors);
  done(errors);
  return fields;
}

/**
 * The webhook after a change of the masked fields. A new origin gets no secret that was set for another one: the change
 * must contain secret and header values again. Throws `no_updates`, `validation_failed`, `unknown_event_type`.
 */
export function changeWebhook(
  stored: WebhookFields,
  paths: readonly string[],
  input: WebhookInput,
  limits: WebhookLimits,
): WebhookFields {
  const requested = webhookPaths.filter((path) => paths.includes(path));
  if (requested.length === 0) throw new AppError("no_updates", "No updates provided");
  const errors: FieldErrors = {};
  const changed = { ...stored };
  for (const path of requested) {
    if (path === "name") changed.name = nameOf(input.name, errors);
    if (path === "url") changed.url = input.url;
    if (path === "secret") changed.secret = secretOf(input.secret, errors);
    if (path === "events") changed.events = eventsOf(input.events, errors);
    if (path === "headers") changed.headers = headersOf(input.headers, stored.headers, errors);
    if (path === "ordered") changed.ordered = input.ordered;
    if (path === "retrySchedule") changed.retrySchedule = retryScheduleOf(input.retrySchedule, errors);
    if (path === "asymmetricSignature") changed.asymmetricSignature = input.asymmetricSignature ?? false;
    if (path === "filter") changed.filter = filterOf(input.filter, errors);
    if (path === "notifyUserIds") changed.notifyUserIds = notifiedOf(input.notifiedUsers, errors);
    if (path === "status") changed.status = statusOf(input.status, errors);
  }
  if (originChanges(stored, changed)) requireAnew(stored, requested, input, errors);
  if (requested.includes("retrySchedule") || requested.includes("ordered")) requireRetryable(changed, limits, errors);
  done(errors);
  return changed;
}

/** Whether scheme, host or port differ: it may be another receiver. */
export function originChanges(before: Pick<WebhookFields, "url">, after: Pick<WebhookFields, "url">): boolean {
  return new URL(before.url).origin !== new URL(after.url).origin;
}

function requireRetryable(
  { retrySchedule, ordered }: WebhookFields,
  { retentionDays }: WebhookLimits,
  errors: FieldErrors,
): void {
  if (errors.retrySchedule) return;
  const error = retryScheduleError(retrySchedule, ordered, retentionDays);
  if (error) errors.retrySchedule = [error];
}

const anew = "A new scheme, host or port needs it anew";

/** Userinfo needs no rule: as part of the URL it changes together with the URL. */
function requireAnew(
  stored: WebhookFields,
  requested: readonly string[],
  { headers }: WebhookInput,
  errors: FieldErrors,
): void {
  if (stored.secret !== null && !requested.includes("secret")) errors.secret = [anew];
  if (!requested.includes("headers")) {
    if (stored.headers.length > 0) errors.headers = [anew];
    return;
  }
  for (const [index, { value }] of headers.entries()) {
    if (value === maskedValue) errors[`headers.${index}.value`] = [anew];
  }
}

/** The API's name of a stored state. */
export function shownStatus(stored: StoredStatus): Status {
  switch (stored) {
    case "active":
      return "active";
    case "disabled":
      return "paused";
    case "error":
      return "failed";
  }
}

function statusOf(text: string, errors: FieldErrors): StoredStatus {
  if (!Object.hasOwn(statuses, text)) {
    errors.status = [`One of ${Object.keys(statuses).join(", ")}`];
    return "active";
  }
  return statuses[text as Status];
}

function nameOf(text: string, errors: FieldErrors): string {
  const name = text.trim();
  const error = nameError(name);
  if (error) errors.name = [error];
  return name;
}

function secretOf(text: string, errors: FieldErrors): string | null {
  if (text === "") return null;
  const error = signingSecretError(text);
  if (error) errors.secret = [error];
  return text;
}

function eventsOf(requested: readonly string[], errors: FieldErrors): string[] {
  const events = [...new Set(requested)];
  if (events.length === 0) errors.events = ['At least one event type, or ["*"]'];
  if (events.includes(anyEvent)) {
    if (events.length > 1) errors.events = ['"*" stands alone'];
    return [anyEvent];
  }
  const isAllowed = (type: string) => isEventType(type) || isEventPattern(type) || isCustomEventType(type);
  const unknown = events.filter((type) => !isAllowed(type));
  if (unknown.length > 0) {
    throw new AppError("unknown_event_type", "Unknown event type", { facts: { types: unknown.slice(0, 20) } });
  }
  return events;
}

function notifiedOf(input: WebhookInput["notifiedUsers"], errors: FieldErrors): string[] | null {
  if (!input) return null;
  const ids = [...new Set(input.userIds.map((id) => id.toLowerCase()))];
  if (ids.length > maxNotifiedUsers) errors.notifyUserIds = [`At most ${maxNotifiedUsers}`];
  for (const [index, id] of input.userIds.entries()) {
    if (!isUuid(id)) errors[`notifyUserIds.${index}`] = ["Must be a UUID"];
  }
  return ids;
}

function headersOf(requested: readonly Header[], stored: readonly Header[], errors: FieldErrors): Header[] {
  const kept = ({ key }: Header) => stored.find((header) => header.key.toLowerCase() === key.toLowerCase());
  Object.assign(errors, requestHeaderErrors(requested));
  return requested.slice(0, maxRequestHeaders).map((header, index) => {
    if (header.value !== maskedValue) return { key: header.key, value: header.value.trim() };
    const value = kept(header)?.value;
    if (value === undefined) errors[`headers.${index}.value`] = ["Nothing is stored for this header"];
    return { key: header.key, value: value ?? "" };
  });
}

function done(errors: FieldErrors): void {
  if (Object.keys(errors).length > 0) throw validationError(errors);
}
