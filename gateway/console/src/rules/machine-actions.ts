import { isOfSession } from "./session-actions.ts";

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

type Row = { action: string; targets: readonly { type: string }[] };

/** What is folded beside a row: never its own kind, and nothing of a sign-in beside another one. */
export function foldedBeside({ action, targets }: Row) {
  const folded = machineActions.filter((each) => each !== action && !(isOfSession(action) && isOfSession(each)));
  const isOfJob = targets.some(({ type }) => type === bulkJobTarget);
  return { excludeActions: folded.join(","), ...(isOfJob ? {} : { excludeTargetTypes: bulkJobTarget }) };
}

/** The name of no action and no type: excluding it excludes nothing. */
export const nothing = "none";

/** Filters of the audit trail's list with which it leaves nothing out. */
export const allRows = { excludeActions: nothing, excludeTargetTypes: nothing } as const;

/** Choices of the rows that the audit trail shows, from the fewest to all of them. */
export const rowChoices = {
  changes: "changes",
  machines: "changes, machines and sign-ins",
  devices: "changes, each device of bulk jobs",
  all: "everything",
} as const;

type Folding = { excludeActions?: string | undefined; excludeTargetTypes?: string | undefined };

/** The choice that filters of the address are. */
export function shownRows({ excludeActions, excludeTargetTypes }: Folding): keyof typeof rowChoices {
  const hasDevices = excludeTargetTypes === nothing;
  if (excludeActions === nothing) return hasDevices ? "all" : "machines";
  return hasDevices ? "devices" : "changes";
}

/** The filters of a choice; one that is left out folds its rows. */
export const filtersOfShown = (choice: string) => ({
  excludeActions: choice === "machines" || choice === "all" ? nothing : undefined,
  excludeTargetTypes: choice === "devices" || choice === "all" ? nothing : undefined,
});
