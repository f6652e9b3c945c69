import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { canonicalCidr, isUuid, validationError } from "@muster/kit";
import { type AuditLog, AuditLogSchema, type ListLogsRequest } from "@muster/proto/muster/audit/v1/log_pb";
import { categories, categoryOf } from "../rules/category.ts";
import { canonicalAddress } from "../rules/entry.ts";
import type { LogFilter } from "../rules/log-filter.ts";
import type { LogRow } from "../store/log-row.ts";

/** The filters of a request; throws `validation_failed`. */
export function filterOf(request: ListLogsRequest): LogFilter {
  return {
    user: request.user || null,
    action: request.action || null,
    resource: request.resource || null,
    query: request.query || null,
    from: timeOf("from", request.from),
    to: timeOf("to", request.to),
    excludeActions: request.excludeActions,
    excludeTargetTypes: request.excludeTargetTypes,
    actions: request.actions,
    actorId: uuidOf("actorId", request.actorId),
    resourceId: uuidOf("resourceId", request.resourceId),
    resourceType: request.resourceType || null,
    result: oneOf("result", request.result, results),
    category: oneOf("category", request.category, categories),
    actorType: oneOf("actorType", request.actorType, actorTypes),
    target: request.target === "" ? null : isUuid(request.target) ? request.target.toLowerCase() : request.target,
    ipAddress: addressOf(request.ipAddress),
    network: networkOf(request.network),
    sessionId: uuidOf("sessionId", request.sessionId),
    details: [],
  };
}

function addressOf(text: string): string | null {
  if (text === "") return null;
  const address = canonicalAddress(text);
  if (address === null) throw validationError({ ipAddress: ["Must be an IPv4 or IPv6 address"] });
  return address;
}

function networkOf(text: string): string | null {
  if (text === "") return null;
  const network = canonicalCidr(text);
  if (network === null) throw validationError({ network: ["Must be a network such as 192.0.2.0/24"] });
  return network;
}

const actorTypes = ["user", "api_key", "agent", "system"] as const;
const results = ["success", "failure", "denied"] as const;

function oneOf<W extends string>(name: string, text: string, values: readonly W[]): W | null {
  if (text === "") return null;
  const value = values.find((each) => each === text);
  if (value === undefined) throw validationError({ [name]: [`Must be one of ${values.join(", ")}`] });
  return value;
}

export function timeOf(name: string, timestamp: Timestamp | undefined): Date | null {
  if (!timestamp) return null;
  const date = timestampDate(timestamp);
  if (Number.isNaN(date.getTime())) throw validationError({ [name]: ["Not a time"] });
  return date;
}

/** An organization's id as clients send it, lower case; null for none. */
export const orgIdOf = (text: string): string | null => uuidOf("orgId", text);

function uuidOf(name: string, text: string): string | null {
  if (text === "") return null;
  if (!isUuid(text)) throw validationError({ [name]: ["Must be a UUID"] });
  return text.toLowerCase();
}

/** A row as it is shown. */
export function toMessage(row: LogRow): AuditLog {
  return create(AuditLogSchema, {
    id: row.id,
    orgId: row.org_id ?? "",
    seq: BigInt(row.seq),
    timestamp: timestampFromDate(row.timestamp),
    actorType: row.actor_type,
    actorId: row.actor_id,
    actorEmail: row.actor_email ?? "",
    actorName: row.actor_name ?? "",
    actorRole: row.actor_role ?? "",
    actorDepartment: row.actor_department ?? "",
    sessionId: row.session_id ?? "",
    action: row.action,
    category: categoryOf(row.action),
    resourceType: row.resource_type,
    resourceId: row.resource_id,
    resourceName: row.resource_name ?? "",
    detailsJson: JSON.stringify(row.details),
    ipAddress: row.ip_address ?? "",
    userAgent: row.user_agent ?? "",
    result: row.result,
    errorMessage: row.error_message ?? "",
    targets: (row.targets ?? []).map(({ type, id, name }) => ({ type, id, name: name ?? "" })),
    checksum: row.checksum,
    prevChecksum: row.prev_checksum ?? "",
  });
}
