import type { Inbound } from "../request/headers.ts";

/**
 * Whether a browser states that a page of this origin sent the request: by Sec-Fetch-Site, which pages cannot set (W3C
 * Fetch Metadata); without that header (plain http beyond localhost) by an Origin equal to the request's host.
 */
export function isSameOrigin({ fetchSite, origin, host }: Pick<Inbound, "fetchSite" | "origin" | "host">): boolean {
  if (fetchSite !== null) return fetchSite === "same-origin";
  if (origin === null || host === null || !URL.canParse(origin)) return false;
  const sender = new URL(origin);
  const wanted = `${sender.protocol}//${host}`;
  // Default ports of a scheme are omitted from both.
  return URL.canParse(wanted) && new URL(wanted).host === sender.host;
}
