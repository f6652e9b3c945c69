/** A semantic version without a leading `v` and build metadata: texts of the same release are equal. */
export function canonicalVersion(text: string): string {
  const [version = ""] = text.trim().replace(/^v/, "").split("+", 1);
  return version;
}

export const isSameVersion = (a: string, b: string): boolean => canonicalVersion(a) === canonicalVersion(b);
