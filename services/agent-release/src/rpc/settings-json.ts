import { type FieldName, fieldNames, isLockable, type Merged, type Settings } from "../rules/settings.ts";

/** "08:30"; the end of the day is "24:00". */
export function timeText(minutes: number): string {
  return `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
}

/** A field's value as replies show it. */
export function shownValue(field: FieldName, value: Settings[FieldName]): unknown {
  return (field === "windowStart" || field === "windowEnd") && typeof value === "number" ? timeText(value) : value;
}

/** Each field: own value, effective value, its source level, and the level that locks it. */
export function shownFields(own: Settings, merged: Merged, level: "organization" | "partner") {
  return Object.fromEntries(
    fieldNames.map((field) => {
      const source = merged.sources[field];
      const isLocked = level === "organization" && isLockable(field) && source === "partner";
      const value = shownValue(field, own[field]);
      const effective = shownValue(field, merged.settings[field]);
      return [field, { value, effective, source, lockedBy: isLocked ? "partner" : null }];
    }),
  );
}
