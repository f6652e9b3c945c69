export type PortalAddress = { linkId: string; code: string };

const path = /^\/portal\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/?$/i;

/** The id of the link whose page this is; null at any other path. */
export const linkIdOf = (pathname: string): string | null => path.exec(pathname)?.[1]?.toLowerCase() ?? null;

/** The code behind `#code=`; null without one. */
export const codeOf = (hash: string): string | null => new URLSearchParams(hash.slice(1)).get("code") || null;

type Received = { origin: string; source: unknown; data: unknown };

/**
 * The new link that the embedding page sends; null for a message of anybody else: another window, an origin that may
 * not embed, or an address that is none of ours.
 */
export function sentLink(
  { origin, source, data }: Received,
  own: { origin: string; parent: unknown; embedOrigins: readonly string[] },
): PortalAddress | null {
  if (source !== own.parent || !own.embedOrigins.includes(origin)) return null;
  if (typeof data !== "object" || data === null) return null;
  const { type, url: text } = data as { type?: unknown; url?: unknown };
  if (type !== "muster.portal.open" || typeof text !== "string" || !URL.canParse(text)) return null;
  const url = new URL(text);
  const linkId = linkIdOf(url.pathname);
  const code = codeOf(url.hash);
  return url.origin === own.origin && linkId !== null && code !== null ? { linkId, code } : null;
}
