/** Scopes of one part of the API: what reads there, and what changes something. */
export type ScopeArea<S extends string> = {
  name: string;
  title: string;
  says: string;
  read: S | null;
  others: readonly S[];
};

const sentences: Readonly<Record<string, string>> = {
  organizations: "Their names, limits and settings",
  sites: "Where devices are",
  devices: "Their facts, labels, groups and state",
  logs: "What devices have logged",
  audit: "Who did what; append adds entries of your own",
  webhooks: "Webhooks and their deliveries",
  events: "Send events of your own",
};

const capitalized = (word: string) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;

/** What a scope allows in its area: `devices:read` is "Read". */
export const scopeVerb = (scope: string): string => capitalized(scope.slice(scope.indexOf(":") + 1));

/** Whether a scope changes nothing. */
export const isReading = (scope: string): boolean => scope.endsWith(":read");

const areaOf = (name: string) => name.slice(0, name.indexOf(":"));

/** Permissions by what they allow, for people: `devices:read` and `sites:read` are Read: Devices, Sites. */
export function permissionVerbs(permissions: readonly string[]): { verbs: string; areas: string }[] {
  const byVerbs = new Map<string, string[]>();
  for (const area of new Set(permissions.map(areaOf))) {
    const own = permissions.filter((each) => areaOf(each) === area).map((each) => each.slice(area.length + 1));
    const verbs = capitalized(own.join(", ").replaceAll("_", " "));
    byVerbs.set(verbs, [...(byVerbs.get(verbs) ?? []), area.replaceAll("_", " ")]);
  }
  return [...byVerbs].map(([verbs, areas]) => ({ verbs, areas: areas.join(", ") }));
}

/** Scopes by their areas, in the order in which the first of each stands. */
export function scopeAreas<S extends string>(scopes: readonly S[]): ScopeArea<S>[] {
  const names = new Set(scopes.map(areaOf));
  return [...names].map((name) => {
    const own = scopes.filter((scope) => scope.startsWith(`${name}:`));
    return {
      name,
      title: capitalized(name),
      says: sentences[name] ?? "",
      read: own.find(isReading) ?? null,
      others: own.filter((scope) => !isReading(scope)),
    };
  });
}
