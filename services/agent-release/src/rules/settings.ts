import type { Day, Window } from "./window.ts";

export type Policy = "automatic" | "manual";

/** What one level has set; null is unset. A target is `latest` or a version. */
export type Settings = {
  agentTarget: string | null;
  watchdogTarget: string | null;
  updatePolicy: Policy | null;
  windowDays: readonly Day[] | null;
  windowStart: number | null;
  windowEnd: number | null;
  /** Permits devices to go back to the pinned version; null or absent: they never do. */
  rollbackNote?: string | null;
};

export const fieldNames = [
  "agentTarget",
  "watchdogTarget",
  "updatePolicy",
  "windowDays",
  "windowStart",
  "windowEnd",
] as const;
export type FieldName = (typeof fieldNames)[number];
export type Source = "organization" | "partner" | "default";

export const nothingSet: Settings = {
  agentTarget: null,
  watchdogTarget: null,
  updatePolicy: null,
  windowDays: null,
  windowStart: null,
  windowEnd: null,
};

/** The effective settings of an organization, and the level that each field comes from. */
export type Merged = {
  settings: Settings & { agentTarget: string; watchdogTarget: string; updatePolicy: Policy };
  sources: Record<FieldName, Source>;
};

/**
 * Per field: the organization's pin wins over the partner's; the partner's policy and window win over the
 * organization's.
 */
export function mergeSettings(partner: Settings, organization: Settings): Merged {
  const pin = (field: "agentTarget" | "watchdogTarget") =>
    organization[field] !== null
      ? { value: organization[field], source: "organization" as const }
      : partner[field] !== null
        ? { value: partner[field], source: "partner" as const }
        : { value: "latest", source: "default" as const };
  const locked = <T>(ofPartner: T | null, ofOrganization: T | null): { value: T | null; source: Source } =>
    ofPartner !== null
      ? { value: ofPartner, source: "partner" }
      : ofOrganization !== null
        ? { value: ofOrganization, source: "organization" }
        : { value: null, source: "default" };
  const fields = {
    agentTarget: pin("agentTarget"),
    watchdogTarget: pin("watchdogTarget"),
    updatePolicy: locked(partner.updatePolicy, organization.updatePolicy),
    windowDays: locked(partner.windowDays, organization.windowDays),
    windowStart: locked(partner.windowStart, organization.windowStart),
    windowEnd: locked(partner.windowEnd, organization.windowEnd),
  };
  return {
    settings: {
      agentTarget: fields.agentTarget.value,
      watchdogTarget: fields.watchdogTarget.value,
      updatePolicy: fields.updatePolicy.value ?? "automatic",
      windowDays: fields.windowDays.value,
      windowStart: fields.windowStart.value,
      windowEnd: fields.windowEnd.value,
      rollbackNote: organization.rollbackNote ?? partner.rollbackNote ?? null,
    },
    sources: Object.fromEntries(fieldNames.map((name) => [name, fields[name].source])) as Record<FieldName, Source>,
  };
}

/** Fields that a partner locks for its organizations. */
export function isLockable(field: FieldName): boolean {
  return field !== "agentTarget" && field !== "watchdogTarget";
}

export function windowOf({ windowDays, windowStart, windowEnd }: Settings): Window {
  return { days: windowDays, start: windowStart, end: windowEnd };
}

/** A field's value as replies and audit rows show it: a time of day as "08:30", the end of the day as "24:00". */
export function shownValue(field: FieldName, value: Settings[FieldName]): unknown {
  return (field === "windowStart" || field === "windowEnd") && typeof value === "number" ? timeText(value) : value;
}

function timeText(minutes: number): string {
  return `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
}
