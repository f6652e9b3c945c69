/** Kinds of mails that notify users of what happened; each user chooses which to get. */
export const notificationKinds = ["audit_alert", "rollout_halted", "webhook_health"] as const;

export type NotificationKind = (typeof notificationKinds)[number];
