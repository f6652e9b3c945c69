export const orgAccesses = {
  all: "all organizations of the partner",
  selected: "some organizations",
  none: "no organization",
} as const;

export type OrgAccess = keyof typeof orgAccesses;
/** What an account reaches, as the API takes it; null: all sites. */
export type AccountAccess = { orgAccess?: OrgAccess; orgIds?: string[]; siteIds?: string[] | null };

const isOrgAccess = (value: unknown): value is OrgAccess => typeof value === "string" && value in orgAccesses;

/**
 * What a form says about an account by `orgAccess` with `orgIds`, and by `siteAccess` (`all` or `some`) with `siteIds`;
 * nothing about what it does not show.
 */
export function accountAccess(form: FormData): AccountAccess {
  const texts = (name: string) => form.getAll(name).map(String);
  const [orgAccess, siteAccess] = [form.get("orgAccess"), form.get("siteAccess")];
  return {
    ...(isOrgAccess(orgAccess) ? { orgAccess } : {}),
    ...(orgAccess === "selected" ? { orgIds: texts("orgIds") } : {}),
    ...(siteAccess === null ? {} : { siteIds: siteAccess === "some" ? texts("siteIds") : null }),
  };
}

/** What may be chosen, by id, and what is chosen already without being listed. */
export function choicesOf(names: ReadonlyMap<string, string>, chosen: readonly string[]): [string, string][] {
  const unlisted = chosen.filter((id) => !names.has(id));
  return [...names, ...unlisted.map((id): [string, string] => [id, id.slice(0, 8)])];
}
