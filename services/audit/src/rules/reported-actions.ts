/** Reported as security events (docs/behaviour.md#action-categories). */
export const securityActions: readonly string[] = [
  "user.login",
  "user.login.failed",
  "user.permission.change",
  "policy.update",
  "policy.create",
  "policy.evaluate",
  "automation.policy.evaluate",
  "agent.source.ip.changed",
];

/** A sign-in that was accepted, and one that was refused. */
export const acceptedAction = "user.login";
export const signInActions: readonly string[] = [acceptedAction, "user.login.failed"];

/** Tracked for compliance (docs/behaviour.md#action-categories). */
export const complianceActions: readonly string[] = [
  "data.access",
  "data.export",
  "device.create",
  "device.delete",
  "policy.update",
  "policy.evaluate",
  "automation.policy.evaluate",
  "script.execute",
  "organization.update",
];

export type Report = "user-activity" | "security-events" | "compliance" | "categories";

/** The actions a report is about; null for all. */
export function actionsOf(report: Report): readonly string[] | null {
  switch (report) {
    case "security-events":
      return securityActions;
    case "compliance":
      return complianceActions;
    case "user-activity":
    case "categories":
      return null;
    default:
      return report satisfies never;
  }
}
