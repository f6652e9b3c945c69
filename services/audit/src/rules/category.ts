export const categories = [
  "authentication",
  "device",
  "automation",
  "policy",
  "alert",
  "compliance",
  "organization",
  "system",
] as const;

export type Category = (typeof categories)[number];

const prefixes: readonly [string, Category][] = [
  ["user.login", "authentication"],
  ["user.logout", "authentication"],
  ["user.permission", "authentication"],
  ["device.", "device"],
  ["script.", "automation"],
  ["policy.", "policy"],
  ["automation.policy.", "policy"],
  ["alert.", "alert"],
  ["data.", "compliance"],
  ["organization.", "organization"],
];

/** Prefixes of a category's actions; for `system` those of all other categories, since it has the remaining actions. */
export function prefixesOf(category: Category): string[] {
  return prefixes.filter(([, each]) => category === "system" || each === category).map(([prefix]) => prefix);
}

/** Category of an action by its prefix (docs/behaviour.md#action-categories). */
export function categoryOf(action: string): Category {
  return prefixes.find(([prefix]) => action.startsWith(prefix))?.[1] ?? "system";
}
