import { type NotificationKind, notificationKinds } from "@muster/kit";
import type { PrincipalRow } from "./principal.ts";

/** Subject and first sentence of each kind's mail. */
export const mailHeads: Readonly<Record<NotificationKind, { subject: string; opening: string }>> = {
  audit_alert: { subject: "Audit alerts", opening: "These audit alerts have fired:" },
  rollout_halted: { subject: "Rollouts halted", opening: "These rollouts of agent releases have halted themselves:" },
  webhook_health: {
    subject: "Health of webhooks",
    opening: "The health of these webhooks has changed, or they fail on:",
  },
};

export const isNotificationKind = (text: string): text is NotificationKind =>
  (notificationKinds as readonly string[]).includes(text);

/** Kinds that users of organizations never get: what they are about is the platform's, or a partner's. */
const kindsAbove: readonly NotificationKind[] = ["rollout_halted"];

/** The kinds that a user of this scope can get, and choose. */
export const kindsOf = (scope: PrincipalRow["scope"]): readonly NotificationKind[] =>
  scope === "organization" ? notificationKinds.filter((kind) => !kindsAbove.includes(kind)) : notificationKinds;

/** Time from a mail to the next one of its kind. */
export const mailIntervalMs = 3_600_000;
/** Lines that one mail lists; it counts the others. */
export const mostLines = 50;

/** The tenant that something is about (neither is the platform), and the permission that its readers need there. */
export type Readership = { permission: string; orgId: string | null; partnerId: string | null };

type Reader = Pick<
  PrincipalRow,
  | "status"
  | "permissions"
  | "scope"
  | "partner_id"
  | "org_id"
  | "org_access"
  | "org_ids"
  | "site_restricted"
  | "partner_status"
  | "org_status"
>;

/** Statuses of an organization in which its users can do nothing. */
const closed = ["suspended", "churned", "deleted", "unknown"];

const isOpen = ({ partner_status: partner, org_status: org }: Reader) =>
  (partner === null || partner === "active") && !(org !== null && closed.includes(org));

/**
 * Whether a user may read of it now: active, of an active tenant, with the permission, and with access to the whole
 * tenant that it is about.
 */
export function mayRead(user: Reader, { permission, orgId, partnerId }: Readership): boolean {
  if (user.status !== "active" || !isOpen(user)) return false;
  if (!user.permissions.includes(permission) || user.site_restricted) return false;
  switch (user.scope) {
    case "system":
      return true;
    case "organization":
      return orgId !== null && user.org_id === orgId;
    case "partner":
      if (partnerId === null || user.partner_id !== partnerId) return false;
      return orgId === null || user.org_access === "all" || user.org_ids.includes(orgId);
    default:
      return user.scope satisfies never;
  }
}
