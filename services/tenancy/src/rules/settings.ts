import { fieldsOf, hasFields } from "@muster/kit";
import { type Checks, type JsonObject, jsonBytes, maxObjectBytes } from "./fields.ts";

const dateFormats = ["MM/DD/YYYY", "DD/MM/YYYY", "YYYY-MM-DD"] as const;
const timeFormats = ["12h", "24h"] as const;
const languages = ["en"] as const;
const presets = ["24/7", "business", "extended", "custom"] as const;
const days = /^(mon|tue|wed|thu|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday)$/;
const clock = /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/;
const email = /^[^\s@]+@[^\s@]+$/;
const maxText = 255;

/** Keys whose own keys are merged, (docs/behaviour.md#partner-settings). */
const dotted: ReadonlySet<string> = new Set(["businessHours", "contact"]);

/** Reports each known key that has a bad value; null removes a key and is always valid. */
export function checkPartnerSettings(patch: JsonObject, field: string, check: Checks): void {
  const at = (key: string) => `${field}.${key}`;
  oneOf(patch.dateFormat, dateFormats, at("dateFormat"), check);
  oneOf(patch.timeFormat, timeFormats, at("timeFormat"), check);
  oneOf(patch.language, languages, at("language"), check);
  if (typeof patch.timezone === "string") check.timezone(at("timezone"), patch.timezone);
  else if (patch.timezone != null) check.fail(at("timezone"), "An IANA timezone identifier");
  const contact = objectAt(patch.contact, at("contact"), check);
  for (const key of ["name", "email", "phone", "website"]) {
    const value = contact[key];
    if (value == null) continue;
    if (typeof value !== "string") check.fail(at(`contact.${key}`), "Must be text");
    else check.text(at(`contact.${key}`), value, maxText);
  }
  if (typeof contact.email === "string" && contact.email !== "" && !email.test(contact.email)) {
    check.fail(at("contact.email"), "Must be an e-mail address");
  }
  const hours = objectAt(patch.businessHours, at("businessHours"), check);
  oneOf(hours.preset, presets, at("businessHours.preset"), check);
  const schedule = objectAt(hours.custom, at("businessHours.custom"), check);
  for (const [day, value] of Object.entries(schedule)) checkDay(day, value, at(`businessHours.custom.${day}`), check);
}

/**
 * Stored settings after a patch: keys in the patch replace stored ones, null removes a key, all others stay; keys that
 * are documented with a dot merge one level down. Reports on `field` a result beyond the size limit.
 */
export function mergeSettings(stored: JsonObject, patch: JsonObject, field: string, check: Checks): JsonObject {
  const merged = merge(stored, patch, (key, value, old) =>
    dotted.has(key) && hasFields(value) && hasFields(old) ? merge(old, value, (_key, inner) => inner) : value,
  );
  if (jsonBytes(merged) > maxObjectBytes) check.fail(field, `At most ${maxObjectBytes} bytes of JSON`);
  return merged;
}

function merge(
  stored: JsonObject,
  patch: JsonObject,
  resolve: (key: string, value: unknown, old: unknown) => unknown,
): JsonObject {
  const merged = new Map(Object.entries(stored));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, withoutNulls(resolve(key, value, merged.get(key)), dotted.has(key)));
  }
  return Object.fromEntries(merged);
}

/** A dotted key that is new: null inside it removes nothing and is not stored. */
function withoutNulls(value: unknown, applies: boolean): unknown {
  if (!applies || !hasFields(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== null));
}

function checkDay(day: string, value: unknown, field: string, check: Checks): void {
  if (!days.test(day)) check.fail(field, "Not a day of the week");
  const schedule = fieldsOf(value);
  if (!hasFields(value)) check.fail(field, "Must be an object with start and end");
  for (const key of ["start", "end"]) {
    const time = schedule[key];
    if (typeof time !== "string" || !clock.test(time)) check.fail(`${field}.${key}`, "A time of day such as 09:00");
  }
  if (schedule.closed !== undefined && typeof schedule.closed !== "boolean") {
    check.fail(`${field}.closed`, "true or false");
  }
}

function oneOf(value: unknown, allowed: readonly string[], field: string, check: Checks): void {
  if (value != null && !allowed.some((each) => each === value)) check.fail(field, `One of ${allowed.join(", ")}`);
}

function objectAt(value: unknown, field: string, check: Checks): JsonObject {
  if (value != null && !hasFields(value)) check.fail(field, "Must be an object");
  return fieldsOf(value);
}
