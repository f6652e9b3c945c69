import { fieldNames, isLockable, type Merged, type Settings, shownValue } from "../rules/settings.ts";

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
