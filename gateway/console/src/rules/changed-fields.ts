import { words } from "./action-words.ts";
import { changesOf } from "./changes.ts";

type Sides = { before?: Record<string, unknown>; after?: Record<string, unknown> };

/** Fields of which the API's name is not what people call them. */
const names: Readonly<Record<string, string>> = {
  siteId: "site",
  orgId: "organization",
  groupIds: "groups",
  hostname: "name",
  autoUpdateEnabled: "updates",
};

const nameOf = (field: string) =>
  (Object.hasOwn(names, field) ? names[field] : undefined) ??
  words(field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));

const sidesOf = (details: Readonly<Record<string, unknown>>): Sides =>
  (details as Sides & { changes?: Sides }).changes ?? (details as Sides);

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
