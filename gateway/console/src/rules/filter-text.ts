/** The filters of an export or a view, in words; the organization is named elsewhere. */
export const filterText = (filter: Readonly<Record<string, unknown>>): string =>
  Object.entries(filter)
    .filter(([name]) => name !== "orgId")
    .map(([name, value]) => `${name} ${Array.isArray(value) ? value.join(", ") : String(value)}`)
    .join(" · ") || "every row";
