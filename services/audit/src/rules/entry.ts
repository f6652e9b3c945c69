import { isIPv4, isIPv6, SocketAddress } from "node:net";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { isUuid, storableText, zeroUuid } from "@muster/kit";
import type { AuditEvent } from "@muster/proto/muster/events/v1/audit_pb";
import { type Target, targetsOf } from "./targets.ts";

export type ActorType = "user" | "api_key" | "agent" | "system";
export type Result = "success" | "failure" | "denied";

/** One audited fact, normalised: the values that are hashed, stored and read back are identical. */
export type Entry = {
  id: string;
  chainId: string;
  orgId: string | null;
  partnerId: string | null;
  timestamp: Date;
  actorType: ActorType;
  actorId: string;
  actorEmail: string | null;
  actorName: string | null;
  actorRole: string | null;
  actorDepartment: string | null;
  sessionId: string | null;
  action: string;
  resourceType: string;
  resourceId: string;
  resourceName: string | null;
  details: Record<string, unknown>;
  ipAddress: string | null;
  userAgent: string | null;
  result: Result;
  errorMessage: string | null;
  /** What it is about besides the resource; absent in rows of format 1. */
  targets?: readonly Target[];
};

/** Why an event cannot become a row. */
export class UnsealableError extends Error {}

const actorTypes: readonly string[] = ["user", "api_key", "agent", "system"];
const results: readonly string[] = ["success", "failure", "denied"];
const maxDetailsBytes = 65_536;
// Cleaned details are at most 62 times as long (1e308 written out), with room for what is added to them.
const surelySmall = 512;
const maxDepth = 32;
const dayMs = 86_400_000;
const ordinary = { writable: true, enumerable: true, configurable: true };

/**
 * Normalises an event to the documented sizes and forms (docs/behaviour.md#audit-events); throws UnsealableError when
 * it cannot become a row.
 */
export function entryOf(event: AuditEvent, now: Date): Entry {
  const tenant = event.orgId || event.partnerId || zeroUuid;
  if (!isUuid(event.id) || !isUuid(tenant) || (event.partnerId !== "" && !isUuid(event.partnerId))) {
    throw new UnsealableError("an id is no UUID");
  }
  const chainId = tenant.toLowerCase();
  if (event.chainId.toLowerCase() !== chainId) throw new UnsealableError("chain does not match its tenant");
  if (!actorTypes.includes(event.actorType)) throw new UnsealableError("unknown actor type");
  if (!results.includes(event.result)) throw new UnsealableError("unknown result");
  if (event.action === "" || event.resourceType === "") throw new UnsealableError("action or resource type missing");
  const details = parseDetails(event.detailsJson);
  const actorId = isUuid(event.actorId) ? event.actorId.toLowerCase() : zeroUuid;
  const resourceId = isUuid(event.resourceId) ? event.resourceId.toLowerCase() : zeroUuid;
  if (actorId === zeroUuid && event.actorId !== zeroUuid) details.rawActorId = clean(event.actorId, 255);
  if (resourceId === zeroUuid && event.resourceId !== zeroUuid) details.rawResourceId = clean(event.resourceId, 255);
  const timestamp = clampTime(event.timestamp ? timestampDate(event.timestamp) : now, now, details);
  if (event.detailsJson.length > surelySmall && Buffer.byteLength(JSON.stringify(details)) > maxDetailsBytes) {
    throw new UnsealableError("details over 64 KB");
  }
  return {
    id: event.id.toLowerCase(),
    chainId,
    orgId: event.orgId ? chainId : null,
    partnerId: event.partnerId ? event.partnerId.toLowerCase() : null,
    timestamp,
    actorType: event.actorType as ActorType,
    actorId,
    actorEmail: optional(event.actorEmail, 255),
    actorName: optional(event.actorName, 255),
    actorRole: optional(event.actorRole, 255),
    actorDepartment: optional(event.actorDepartment, 255),
    sessionId: isUuid(event.sessionId) ? event.sessionId.toLowerCase() : null,
    action: clean(event.action, 100),
    resourceType: clean(event.resourceType, 50),
    resourceId,
    resourceName: optional(event.resourceName, 255),
    details,
    ipAddress: canonicalAddress(event.ipAddress),
    userAgent: optional(event.userAgent, 1_000),
    result: event.result as Result,
    errorMessage: optional(event.errorMessage, 2_000),
    ...(event.targets.length === 0 ? {} : { targets: targetsOf(event.targets, clean) }),
  };
}

function parseDetails(text: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text || "{}");
  } catch (cause) {
    throw new UnsealableError("details are no JSON", { cause });
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw new UnsealableError("details are no object");
  }
  // Nearly always nothing is to be cleaned, and nothing to be copied.
  return (isClean(parsed, 0) ? parsed : cleanValue(parsed, 0)) as Record<string, unknown>;
}

/** Whether `cleanValue` would change nothing. */
function isClean(value: unknown, depth: number): boolean {
  if (depth > maxDepth) return false;
  if (typeof value === "string") return storableText(value) === value;
  if (typeof value === "number") {
    return Number.isFinite(value) && !Object.is(value, -0) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  }
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every((item) => isClean(item, depth + 1));
  // Only own properties: JSON.parse creates no others, but `__proto__` may be among them.
  for (const key in value) {
    if (key === "__proto__" || storableText(key) !== key) return false;
    if (!isClean((value as Record<string, unknown>)[key], depth + 1)) return false;
  }
  return true;
}

/** Strings well-formed and without NUL (jsonb refuses both), unsafe integers as strings, depth bounded. */
function cleanValue(value: unknown, depth: number): unknown {
  if (depth > maxDepth) throw new UnsealableError("details nested too deeply");
  if (typeof value === "string") return storableText(value);
  if (typeof value === "number") {
    // JSON permits 1e400, which no double holds and no JSON serialiser can repeat.
    if (!Number.isFinite(value)) return String(value);
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) return BigInt(value).toString();
    // Negative zero does not survive numeric; the hashed value must equal the one read back.
    return value === 0 ? 0 : value;
  }
  if (Array.isArray(value)) return value.map((item) => cleanValue(item, depth + 1));
  if (typeof value === "object" && value !== null) {
    const cleaned: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(value)) {
      const name = storableText(key);
      const cleanedItem = cleanValue(item, depth + 1);
      // Assigning it would set the prototype.
      if (name === "__proto__") Object.defineProperty(cleaned, name, { value: cleanedItem, ...ordinary });
      else cleaned[name] = cleanedItem;
    }
    return cleaned;
  }
  return value;
}

function clampTime(claimed: Date, now: Date, details: Record<string, unknown>): Date {
  const earliest = now.getTime() - 30 * dayMs;
  const latest = now.getTime() + 5 * 60_000;
  const ms = claimed.getTime();
  if (ms >= earliest && ms <= latest) return claimed;
  details.claimedTimestamp = Number.isNaN(ms) ? "invalid" : claimed.toISOString();
  return new Date(Number.isNaN(ms) ? now.getTime() : Math.min(Math.max(ms, earliest), latest));
}

/** Text that PostgreSQL and JSON keep as it is: at most `max` characters as PostgreSQL counts them (code points). */
export function clean(text: string, max: number): string {
  const whole = storableText(text);
  return whole.length <= max ? whole : [...whole].slice(0, max).join("");
}

function optional(text: string, max: number): string | null {
  return text === "" ? null : clean(text, max);
}

/** IPv4 and IPv6 in one spelling each; an IPv4-mapped address is its IPv4 address; anything else is null. */
export function canonicalAddress(text: string): string | null {
  if (isIPv4(text)) return text;
  if (!isIPv6(text)) return null;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(new SocketAddress({ address: text, family: "ipv6" }).address);
  return mapped?.[1] ?? new SocketAddress({ address: text.split("%")[0] ?? text, family: "ipv6" }).address;
}
