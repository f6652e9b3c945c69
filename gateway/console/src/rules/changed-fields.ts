import { words } from "./action-words.ts";
import { withInstants } from "./api-sentence.ts";
import { changesOf } from "./changes.ts";
import { reasonSentence } from "./reason-sentences.ts";

type Sides = { before?: Record<string, unknown>; after?: Record<string, unknown> };

/** Fields of which the API's name is not what people call them. */
const names: Readonly<Record<string, string>> = {
  siteId: "site",
  orgId: "organization",
  groupIds: "groups",
  hostname: "name",
  autoUpdateEnabled: "updates",
};

/** A field's name as words. */
export const fieldWords = (field: string): string =>
  words(field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));

const nameOf = (field: string) => (Object.hasOwn(names, field) ? names[field] : undefined) ?? fieldWords(field);

/** A recorded reason as a sentence. */
export const reasonWords = (reason: string): string => withInstants(reasonSentence(reason), (at) => at.toISOString());

export const sidesOf = (details: Readonly<Record<string, unknown>>): Sides =>
  (details as Sides & { changes?: Sides }).changes ?? (details as Sides);

const [valueLength, shownFields] = [40, 2];

/** A value of a record in few words. */
function inShort(value: unknown): string {
  if (value === null || value === undefined || value === "" || (Array.isArray(value) && value.length === 0))
    return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  const text = Array.isArray(value)
    ? value.map(inShort).join(", ")
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value);
  return text.length > valueLength ? `${text.slice(0, valueLength - 1)}…` : text;
}

/** What an audit row says was changed, from what to what: the first fields; empty for what is new or gone. */
export function changesInShort(details: Readonly<Record<string, unknown>>): string {
  const { before = {}, after = {} } = sidesOf(details);
  if (Object.keys(before).length === 0 || Object.keys(after).length === 0) return "";
  const changed = changesOf(before, after).map(
    (each) => `${nameOf(each.field)}: ${inShort(each.before)} → ${inShort(each.after)}`,
  );
  const more = changed.length - shownFields;
  return [...changed.slice(0, shownFields), ...(more > 0 ? [`${more} more`] : [])].join("; ");
}

type Row = { details: Readonly<Record<string, unknown>>; errorMessage: string | null };

/** What an audit row says besides its title: what changed, else why; empty where the title says it all. */
export function rowInShort({ details, errorMessage }: Row): string {
  const { reason, required } = details;
  const why = typeof reason === "string" ? reasonWords(reason) : "";
  const needs = typeof required === "string" ? `Needs the permission ${required}.` : "";
  return changesInShort(details) || needs || reasonSentence(errorMessage) || why;
}

/** What an audit row says somebody did to a device: a switch by what it does, else the fields that were changed. */
export function changedDevice(details: Readonly<Record<string, unknown>>): string {
  const { before = {}, after = {} } = sidesOf(details);
  const changed = new Set(changesOf(before, after).map(({ field }) => field));
  const isOn = after.autoUpdateEnabled;
  if (changed.size === 1 && changed.has("autoUpdateEnabled") && typeof isOn === "boolean") {
    return isOn ? "turned its updates on" : "held its updates";
  }
  return `changed ${changedFields(details) || "it"}`;
}

/** Which fields an audit row says were changed, in words: "its site and labels"; empty where it names none. */
export function changedFields(details: Readonly<Record<string, unknown>>): string {
  const { before, after } = sidesOf(details);
  const fields = changesOf(before ?? {}, after ?? {}).map(({ field }) => nameOf(field.split(".")[0] ?? field));
  const list = [...new Set(fields)];
  return list.length === 0 ? "" : `its ${new Intl.ListFormat("en-GB").format(list)}`;
}
