import { timestampDate } from "@bufbuild/protobuf/wkt";
import { type FieldErrors, isUuid, storableText, uuidv7, validationError } from "@muster/kit";
import type { AppendedEvent } from "@muster/proto/muster/audit/v1/append_pb";
import type { Result } from "./entry.ts";
import { mostTargets, type Target } from "./targets.ts";

/** An event of another program, valid. */
export type NewEvent = {
  id: string;
  at: Date;
  action: string;
  resource: { type: string; id: string; name: string | null };
  details: Record<string, unknown>;
  result: Result;
  errorMessage: string;
  targets: Target[];
};

export const mostEvents = 100;
const maxDetailsBytes = 16_384;
const earliestMs = 30 * 86_400_000;
const latestMs = 5 * 60_000;
/** Never of the platform, which owns every other first word. */
const action = /^custom(\.[a-z0-9][a-z0-9_-]*)+$/;
const resourceType = /^[a-z][a-z0-9_.-]*$/;
const results = ["success", "failure", "denied"] as const;
/** Members of a row's details that the platform writes. */
const reserved = ["claimedActor", "claimedTimestamp", "rawActorId", "rawResourceId"];

/** The events of a request. Throws `validation_failed` naming each bad field as `events.<n>.<field>`. */
export function newEvents(posted: readonly AppendedEvent[], now: Date): NewEvent[] {
  if (posted.length < 1 || posted.length > mostEvents) throw validationError({ events: [`1 to ${mostEvents}`] });
  const errors: FieldErrors = {};
  const seen = new Set<string>();
  const events = posted.map((event, index) => {
    const read = readEvent(event, now);
    if (seen.has(read.event.id)) read.errors.id = ["More than one event of the request has it"];
    seen.add(read.event.id);
    for (const [field, texts] of Object.entries(read.errors)) errors[`events.${index}.${field}`] = texts;
    return read.event;
  });
  if (Object.keys(errors).length > 0) throw validationError(errors);
  return events;
}

function readEvent(posted: AppendedEvent, now: Date): { event: NewEvent; errors: FieldErrors } {
  const errors: FieldErrors = textErrors(posted);
  if (posted.id !== "" && !isUuid(posted.id)) errors.id = ["Must be a UUID"];
  if (!action.test(posted.action)) errors.action = ["custom. and words of a-z, 0-9, _ and -, with dots between them"];
  if (!resourceType.test(posted.resourceType)) errors["resource.type"] = ["Letters a-z, digits, _, - and dots"];
  const result = results.find((each) => each === (posted.result || "success"));
  if (!result) errors.result = [`One of ${results.join(", ")}`];
  const at = posted.timestamp ? timestampDate(posted.timestamp) : now;
  const ageMs = now.getTime() - at.getTime();
  if (!(ageMs <= earliestMs && ageMs >= -latestMs)) errors.timestamp = ["At most 30 days ago and 5 minutes ahead"];
  Object.assign(errors, targetErrors(posted));
  const { details, error } = detailsOf(posted);
  if (error !== null) errors.details = [error];
  const event: NewEvent = {
    id: posted.id.toLowerCase() || uuidv7(now.getTime()),
    at,
    action: posted.action,
    resource: { type: posted.resourceType, id: posted.resourceId, name: posted.resourceName || null },
    details,
    result: result ?? "success",
    errorMessage: posted.errorMessage,
    targets: posted.targets.map((target) => ({ type: target.type, id: target.id, name: target.name || null })),
  };
  return { event, errors };
}

/** What would be cut off or changed on its way into a row. */
function textErrors({ claimedActor, ...posted }: AppendedEvent): FieldErrors {
  const texts: readonly [field: string, text: string, min: number, max: number][] = [
    ["action", posted.action, 1, 100],
    ["resource.type", posted.resourceType, 1, 50],
    ["resource.id", posted.resourceId, 1, 255],
    ["resource.name", posted.resourceName, 0, 255],
    ["errorMessage", posted.errorMessage, 0, 2_000],
    ["claimedActor.type", claimedActor?.type ?? "", 0, 50],
    ["claimedActor.id", claimedActor?.id ?? "", 0, 255],
    ["claimedActor.name", claimedActor?.name ?? "", 0, 255],
    ["claimedActor.email", claimedActor?.email ?? "", 0, 255],
    ["claimedActor.ipAddress", claimedActor?.ipAddress ?? "", 0, 45],
  ];
  const errors: FieldErrors = {};
  for (const [field, text, min, max] of texts) {
    const { length } = [...text];
    if (length < min || length > max) errors[field] = [`${min} to ${max} characters`];
    else if (storableText(text) !== text) errors[field] = ["Has characters that are no text"];
  }
  return errors;
}

function targetErrors({ targets }: AppendedEvent): FieldErrors {
  if (targets.length > mostTargets) return { targets: [`At most ${mostTargets}`] };
  const errors: FieldErrors = {};
  targets.forEach(({ type, id, name }, n) => {
    if (!resourceType.test(type) || type.length > 50)
      errors[`targets.${n}.type`] = ["Letters a-z, digits, _, - and dots"];
    if (id === "" || [...id].length > 255 || storableText(id) !== id)
      errors[`targets.${n}.id`] = ["1 to 255 characters"];
    if ([...name].length > 255 || storableText(name) !== name) errors[`targets.${n}.name`] = ["0 to 255 characters"];
  });
  return errors;
}

type Details = { details: Record<string, unknown>; error: string | null };

/** The sender's details with the actor whom it names: claimed, since nothing vouches for it. */
function detailsOf({ detailsJson, claimedActor }: AppendedEvent): Details {
  const refused = (error: string): Details => ({ details: {}, error });
  if (Buffer.byteLength(detailsJson) > maxDetailsBytes) return refused("At most 16,384 bytes of JSON");
  let details: unknown;
  try {
    details = JSON.parse(detailsJson || "{}");
  } catch {
    return refused("A JSON object");
  }
  if (typeof details !== "object" || details === null || Array.isArray(details)) return refused("A JSON object");
  const taken = reserved.find((name) => Object.hasOwn(details, name));
  if (taken !== undefined) return refused(`${taken} is written by the platform`);
  const { type, id, name, email, ipAddress } = claimedActor ?? { type: "", id: "", name: "", email: "", ipAddress: "" };
  const named = Object.entries({ type, id, name, email, ipAddress }).filter(([, text]) => text !== "");
  const claimed = named.length === 0 ? {} : { claimedActor: Object.fromEntries(named) };
  return { details: { ...(details as Record<string, unknown>), ...claimed }, error: null };
}
