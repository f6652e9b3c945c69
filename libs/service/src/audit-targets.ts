import { fieldsOf } from "@muster/kit";

/** A record that a row is about besides its resource. */
export type AuditTarget = { type: string; id: string; name: string | null };

/** Fields of details that hold the id of a record, or several, and the type of that record as rows name it. */
export const targetFields: Readonly<Record<string, string>> = {
  deviceId: "device",
  deviceIds: "device",
  replaces: "device",
  replacedBy: "device",
  siteId: "site",
  siteIds: "site",
  groupId: "device_group",
  groupIds: "device_group",
  orgIds: "organization",
  userId: "user",
  userIds: "user",
  roleId: "role",
  defaultRoleId: "role",
  sessionId: "session",
  keyId: "api_key",
  principalId: "service_principal",
  providerId: "sso_provider",
  ssoProviderId: "sso_provider",
  directoryId: "directory",
  webhookId: "webhook",
  rolloutId: "rollout",
  streamId: "audit_stream",
  alertId: "audit_alert",
  bulkJobId: "device_bulk_job",
};

/** What a row of the sealed trail holds at most (docs/behaviour.md#audit-events). */
const mostTargets = 20;

/**
 * The records that details name by their ids: in themselves, in `changes` before and after, and in `via`; each once, in
 * that order, without the resource. The name is the text beside the id: `keyName` of `keyId`, `role` of `roleId`.
 */
export function targetsIn(
  details: Readonly<Record<string, unknown>>,
  resource: { type: string; id: string },
): AuditTarget[] {
  const changes = fieldsOf(details.changes);
  const parts = [details, fieldsOf(changes.after), fieldsOf(changes.before), fieldsOf(details.via)];
  const seen = new Set([`${resource.type}/${resource.id}`]);
  const found = parts.flatMap((part) => targetsOfPart(part)).filter(({ type, id }) => !seenBefore(seen, type, id));
  return found.slice(0, mostTargets);
}

function targetsOfPart(part: Readonly<Record<string, unknown>>): AuditTarget[] {
  return Object.entries(part).flatMap(([field, value]) => {
    const type = Object.hasOwn(targetFields, field) ? targetFields[field] : undefined;
    if (type === undefined) return [];
    if (Array.isArray(value)) return value.filter(isText).map((id) => ({ type, id, name: null }));
    return isText(value) ? [{ type, id: value, name: nameBeside(field, part) }] : [];
  });
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

function nameBeside(field: string, part: Readonly<Record<string, unknown>>): string | null {
  const what = field.replace(/Id$/, "");
  return [part[`${what}Name`], what === field ? null : part[what]].find(isText) ?? null;
}

function seenBefore(seen: Set<string>, type: string, id: string): boolean {
  const key = `${type}/${id}`;
  if (seen.has(key)) return true;
  seen.add(key);
  return false;
}
