/** Ready-made alerts, in words; their names are the API's. */
export const alertTemplates = {
  "new-administrator": "A user becomes an administrator",
  "sso-disabled": "A sign-in provider is disabled, deleted, or no longer enforced",
  "key-with-all-scopes": "An API key gets every scope",
  "many-refusals": "10 changes are refused within 10 minutes",
} as const;

export type AlertTemplate = keyof typeof alertTemplates;

export const isAlertTemplate = (text: string): text is AlertTemplate => Object.hasOwn(alertTemplates, text);

type Texts = Readonly<Record<string, string | undefined>>;
export type AlertQuery = Record<string, string | string[]>;

/** Filters of the audit page that an alert does not have: times, folded rows, and the organization beside them. */
const notOfAlerts: ReadonlySet<string> = new Set(["orgId", "from", "to", "sort", "excludeTargetTypes"]);
const lists: ReadonlySet<string> = new Set(["actions", "excludeActions"]);

/** The filters of an address as an alert has them. */
export function alertQueryOf(filters: Texts): AlertQuery {
  const inForce = Object.entries(filters).filter((each): each is [string, string] => Boolean(each[1]));
  return Object.fromEntries(
    inForce
      .filter(([name]) => !notOfAlerts.has(name))
      .map(([name, value]) => [name, lists.has(name) ? value.split(",") : value]),
  );
}

type Search = { template: string | null; query: Readonly<Record<string, unknown>> };

/** What an alert looks for, in words. */
export function searchWords({ template, query }: Search): string {
  if (template !== null) return isAlertTemplate(template) ? alertTemplates[template] : template;
  const named = Object.entries(query).filter(([name]) => name !== "excludeActions");
  const words = named.map(([name, value]) => `${name} ${Array.isArray(value) ? value.join(", ") : String(value)}`);
  return words.join(" · ") || "every change by people";
}

/** What the fields of an alert say: its name, when it fires, and who is notified. */
export function alertFieldsOf(form: FormData) {
  const number = (name: string) => Number(form.get(name));
  return {
    name: String(form.get("name")).trim(),
    threshold: form.has("isThreshold") ? { count: number("count"), minutes: number("minutes") } : null,
    notify: { webhook: form.has("webhook"), mail: form.getAll("mail").map(String) },
  };
}
