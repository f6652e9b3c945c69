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

/** Which fields an audit row says were changed, in words: "its site and labels"; empty where it names none. */
export function changedFields(details: Readonly<Record<string, unknown>>): string {
  const { before, after } = (details as Sides & { changes?: Sides }).changes ?? (details as Sides);
  const fields = changesOf(before ?? {}, after ?? {}).map(({ field }) => nameOf(field.split(".")[0] ?? field));
  const list = [...new Set(fields)];
  return list.length === 0 ? "" : `its ${new Intl.ListFormat("en-GB").format(list)}`;
}
