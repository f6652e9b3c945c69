import { AppError, type FieldErrors, isEventType, nameError, signingSecretError, validationError } from "@muster/kit";

export type Header = { key: string; value: string };

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
};

export type WebhookInput = {
  name: string;
  url: string;
  secret: string;
  events: readonly string[];
  headers: readonly Header[];
  status: string;
  ordered: boolean;
};

/** Paths of an update mask. */
export const webhookPaths = ["name", "url", "secret", "events", "headers", "status", "ordered"] as const;

/** Replaces header values in replies; when a client sends it back, the stored value is kept. */
export const maskedValue = "***";
export const anyEvent = "*";

const maxHeaders = 20;
const maxHeaderValue = 2_000;
// RFC 9110, 5.6.2.
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const headerText = /^[\t\x20-\x7e]*$/;
/** Headers of the product, of signatures, of the body and of the connection. */
const reserved =
  /^(x-service-.*|webhook-.*|content-.*|host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|http2-settings)$/i;

export function isReservedHeader(key: string): boolean {
  return reserved.test(key);
}

/**
 * The fields of a new webhook. Throws `validation_failed` naming each bad field, `unknown_event_type`. The URL is
 * validated elsewhere.
 */
export function newWebhook(input: Omit<WebhookInput, "status">): WebhookFields {
  const errors: FieldErrors = {};
  const fields: WebhookFields = {
    name: nameOf(input.name, errors),
    url: input.url,
    secret: secretOf(input.secret, errors),
    events: eventsOf(input.events, errors),
    headers: headersOf(input.headers, [], errors),
    status: "active",
    ordered: input.ordered,
  };
  done(errors);
  return fields;
}

/**
 * The webhook after a change of the masked fields. A new origin gets no secret that was set for another one: the change
 * must contain secret and header values again. Throws `no_updates`, `validation_failed`, `unknown_event_type`.
 */
export function changeWebhook(stored: WebhookFields, paths: readonly string[], input: WebhookInput): WebhookFields {
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
    if (path === "status") changed.status = statusOf(input.status, errors);
  }
  if (originChanges(stored, changed)) requireAnew(stored, requested, input, errors);
  done(errors);
  return changed;
}

/** Whether scheme, host or port differ: it may be another receiver. */
export function originChanges(before: Pick<WebhookFields, "url">, after: Pick<WebhookFields, "url">): boolean {
  return new URL(before.url).origin !== new URL(after.url).origin;
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
  const unknown = events.filter((type) => !isEventType(type));
  if (unknown.length > 0) {
    throw new AppError("unknown_event_type", "Unknown event type", { facts: { types: unknown.slice(0, 20) } });
  }
  return events;
}

function headersOf(requested: readonly Header[], stored: readonly Header[], errors: FieldErrors): Header[] {
  if (requested.length > maxHeaders) errors.headers = [`At most ${maxHeaders} headers`];
  const seen = new Set<string>();
  return requested.slice(0, maxHeaders).map(({ key, value }, index) => {
    const name = key.toLowerCase();
    if (!token.test(key)) errors[`headers.${index}.key`] = ["Not a header name"];
    else if (isReservedHeader(key)) errors[`headers.${index}.key`] = ["Reserved"];
    else if (seen.has(name)) errors[`headers.${index}.key`] = ["Given twice"];
    seen.add(name);
    if (value === maskedValue) {
      const kept = stored.find((header) => header.key.toLowerCase() === name);
      if (!kept) errors[`headers.${index}.value`] = ["Nothing is stored for this header"];
      return { key, value: kept?.value ?? "" };
    }
    if (value.length > maxHeaderValue || !headerText.test(value)) {
      errors[`headers.${index}.value`] = [`At most ${maxHeaderValue} ASCII characters`];
    }
    return { key, value: value.trim() };
  });
}

function done(errors: FieldErrors): void {
  if (Object.keys(errors).length > 0) throw validationError(errors);
}
