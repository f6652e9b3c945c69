/**
 * The value of a cookie in a Cookie header, or null. A name with two different values is null, too: one of them was
 * planted, perhaps by a sibling domain, and the header does not identify it (RFC 6265 section 8.6).
 */
export function cookieOf(header: string | null, name: string): string | null {
  if (header === null) return null;
  let found: string | null = null;
  for (const pair of header.split(";")) {
    const at = pair.indexOf("=");
    if (at < 0 || pair.slice(0, at).trim() !== name) continue;
    const value = pair.slice(at + 1).trim();
    if (found !== null && found !== value) return null;
    found = value;
  }
  return found;
}
