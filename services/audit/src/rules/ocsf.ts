import type { ChainRow } from "./chain-row.ts";
import type { Entry } from "./entry.ts";
import { type Activity, activityOf, classes } from "./ocsf-activities.ts";

/** The version of the Open Cybersecurity Schema Framework that events are of. */
export const ocsfVersion = "1.5.0";

const severities = {
  success: { id: 1, text: "Informational" },
  failure: { id: 2, text: "Low" },
  denied: { id: 3, text: "Medium" },
} as const;

/**
 * A sealed row as an event of OCSF 1.5.0: Authentication, Account Change, Entity Management or, for every other action,
 * API Activity. What no attribute of the class holds stands in `unmapped`, with what a verifier needs of the chain
 * (`seq`, `checksum`, `prevChecksum`); rows themselves are in the format `muster` alone.
 */
export function ocsfEvent(row: ChainRow): Record<string, unknown> {
  const { entry } = row;
  const activity = activityOf(entry.action);
  const { uid, caption, category } = classes[activity.class];
  const severity = severities[entry.result];
  return {
    activity_id: activity.id,
    activity_name: activity.name,
    category_uid: category.uid,
    category_name: category.caption,
    class_uid: uid,
    class_name: caption,
    type_uid: uid * 100 + activity.id,
    type_name: `${caption}: ${activity.name}`,
    time: timeOf(entry.timestamp),
    severity_id: severity.id,
    severity: severity.text,
    status_id: entry.result === "success" ? 1 : 2,
    status: entry.result === "success" ? "Success" : "Failure",
    status_code: entry.result,
    ...(entry.errorMessage === null ? {} : { status_detail: entry.errorMessage }),
    message: [entry.action, entry.resourceType, entry.resourceName].filter(Boolean).join(" "),
    metadata: {
      version: ocsfVersion,
      product: { name: "Muster", vendor_name: "Muster" },
      log_name: "audit",
      event_code: entry.action,
      uid: entry.id,
      sequence: row.seq,
      tenant_uid: entry.chainId,
    },
    ...about(entry, activity),
    ...(entry.userAgent === null ? {} : { http_request: { user_agent: entry.userAgent } }),
    unmapped: unmappedOf(row),
  };
}

/** Who, from where and what, as the class of the activity names it. */
function about(entry: Entry, activity: Activity): Record<string, unknown> {
  const shared = { actor: actorOf(entry), src_endpoint: endpointOf(entry) };
  switch (activity.class) {
    case "authentication":
      return { ...shared, user: subjectOf(entry), service: { name: "Muster" }, ...sessionOf(entry) };
    case "account_change":
      return { ...shared, user: subjectOf(entry) };
    case "entity_management":
      return { ...shared, entity: { uid: entry.resourceId, type: entry.resourceType, ...nameOf(entry.resourceName) } };
    case "api_activity":
      return { ...shared, api: { operation: entry.action, service: { name: "Muster" } } };
    default:
      return activity.class satisfies never;
  }
}

function actorOf(entry: Entry): Record<string, unknown> {
  if (entry.actorType !== "user") {
    return {
      app_uid: entry.actorId,
      app_name: entry.actorName ?? entry.actorType,
      ...sessionOf(entry),
    };
  }
  return { user: { uid: entry.actorId, type_id: 1, type: "User", ...namesOfUser(entry) }, ...sessionOf(entry) };
}

/** The user whom a change is about: the actor, unless the row's resource is another user. */
function subjectOf(entry: Entry): Record<string, unknown> {
  if (entry.resourceType === "user" && entry.resourceId !== entry.actorId) {
    return { uid: entry.resourceId, ...nameOf(entry.resourceName) };
  }
  return { uid: entry.actorId, ...namesOfUser(entry) };
}

const sessionOf = ({ sessionId }: Entry) => (sessionId === null ? {} : { session: { uid: sessionId } });
const nameOf = (name: string | null) => (name === null ? {} : { name });

/** What the schema's own pattern of an address takes. */
const email = /^[a-zA-Z0-9!#$%&'*+\-/=?^_`{|}~.]+@[a-zA-Z0-9-]+\.[a-zA-Z0-9-.]+$/;

function namesOfUser({ actorName, actorEmail }: Entry): Record<string, unknown> {
  const address = actorEmail !== null && email.test(actorEmail) ? { email_addr: actorEmail } : {};
  return { ...nameOf(actorName ?? actorEmail), ...address };
}

/** The caller's address; without one, the platform itself. */
const endpointOf = ({ ipAddress }: Entry) => (ipAddress === null ? { svc_name: "muster" } : { ip: ipAddress });

function unmappedOf({ entry, seq, format, checksum, prevChecksum }: ChainRow): Record<string, unknown> {
  const { action, actorType, actorEmail, actorRole, actorDepartment, resourceType, resourceId, resourceName } = entry;
  const row = { action, actorType, actorEmail, actorRole, actorDepartment, resourceType, resourceId, resourceName };
  return {
    ...row,
    orgId: entry.orgId,
    partnerId: entry.partnerId,
    details: entry.details,
    ...(entry.targets === undefined ? {} : { targets: entry.targets }),
    seq,
    format,
    checksum,
    prevChecksum,
  };
}

/** A tampered row's time may be none. */
const timeOf = (time: Date) => (Number.isNaN(time.getTime()) ? 0 : time.getTime());
