import { AppError, type FieldErrors, validationError } from "@muster/kit";

/** What an organization has instead of the platform's; null: the platform's. */
export type LogLimits = {
  rowsPerDay: number | null;
  bytesPerDay: number | null;
  agentLogDays: number | null;
  eventLogDays: number | null;
};

/** What counts: a quota may be none (null), retention has always an end. */
export type EffectiveLimits = Pick<LogLimits, "rowsPerDay" | "bytesPerDay"> & {
  agentLogDays: number;
  eventLogDays: number;
};

export const noLimits: LogLimits = { rowsPerDay: null, bytesPerDay: null, agentLogDays: null, eventLogDays: null };

/** An organization's own limits, else the platform's; no retention is longer than the platform's. */
export function effectiveLimits(own: LogLimits, platform: EffectiveLimits): EffectiveLimits {
  return {
    rowsPerDay: own.rowsPerDay ?? platform.rowsPerDay,
    bytesPerDay: own.bytesPerDay ?? platform.bytesPerDay,
    agentLogDays: Math.min(own.agentLogDays ?? platform.agentLogDays, platform.agentLogDays),
    eventLogDays: Math.min(own.eventLogDays ?? platform.eventLogDays, platform.eventLogDays),
  };
}

const fields = {
  rows_per_day: "rowsPerDay",
  bytes_per_day: "bytesPerDay",
  agent_log_days: "agentLogDays",
  event_log_days: "eventLogDays",
} as const;

/** Fields that only the platform's administrators may change. */
const ofPlatform: ReadonlySet<string> = new Set(["rowsPerDay", "bytesPerDay"]);

export type LimitChange = { paths: readonly string[]; limits: LogLimits; isPlatform: boolean };

/**
 * The limits with the fields of a mask changed. Throws `no_updates`, `validation_failed` with every error, and
 * `permission_denied` for a quota that another than the platform changes.
 */
export function changedLimits(
  before: LogLimits,
  { paths, limits, isPlatform }: LimitChange,
  platform: EffectiveLimits,
): LogLimits {
  const names = Object.entries(fields).flatMap(([path, name]) => (paths.includes(path) ? [name] : []));
  if (names.length === 0) throw new AppError("no_updates", "No updates provided");
  if (!isPlatform && names.some((name) => ofPlatform.has(name))) {
    throw new AppError("permission_denied", "Permission denied", { facts: { required: "platform:admin" } });
  }
  const errors: FieldErrors = {};
  for (const name of names) {
    const problem = problemOf(name, limits[name], platform);
    if (problem !== null) errors[name] = [problem];
  }
  if (Object.keys(errors).length > 0) throw validationError(errors);
  return { ...before, ...Object.fromEntries(names.map((name) => [name, limits[name]])) };
}

function problemOf(name: keyof LogLimits, value: number | null, platform: EffectiveLimits): string | null {
  if (value === null) return null;
  const max = name === "agentLogDays" || name === "eventLogDays" ? platform[name] : Number.MAX_SAFE_INTEGER;
  if (Number.isSafeInteger(value) && value >= 1 && value <= max) return null;
  return `Must be between 1 and ${max}`;
}
