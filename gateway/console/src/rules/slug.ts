/**
 * A slug made of a name: letters, digits and hyphens, at most 100 characters; `unnamed` for a name without any of
 * these.
 */
export function slugOf(name: string): string {
  const plain = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 100)
    .replace(/^-+|-+$/g, "");
  return plain === "" ? "unnamed" : plain;
}
