/** What programs write by themselves, day and night. */
export const machineActions = [
  "user.login",
  "user.logout",
  "agent.logs.submit",
  "agent.eventlogs.submit",
  "agent.token.rotate",
] as const;

/** The target of each row of a bulk job's devices: without those rows, the job's own stands alone. */
export const bulkJobTarget = "device_bulk_job";

/** What is left out of the audit trail at first: what machines do, and each device of a bulk job. */
export const foldedRows = { excludeActions: machineActions.join(","), excludeTargetTypes: bulkJobTarget } as const;

/** The name of no action and no type: excluding it excludes nothing. */
export const nothing = "none";

/** Filters of the audit trail's list with which it leaves nothing out. */
export const allRows = { excludeActions: nothing, excludeTargetTypes: nothing } as const;
