import type { Inbound } from "../inbound/headers.ts";

/**
 * Whether a browser says that a page of this origin sent the request: by Sec-Fetch-Site, which pages cannot set (W3C
 * Fetch Metadata); where none is sent (plain http beyond localhost) by an Origin that is the host asked.
 */
export function isSameOrigin({ fetchSite, origin, host }: Pick<Inbound, "fetchSite" | "origin" | "host">): boolean {
  if (fetchSite !== null) return fetchSite === "same-origin";
  if (origin === null || host === null || !URL.canParse(origin)) return false;
  const sender = new URL(origin);
  const asked = `${sender.protocol}//${host}`;
  // Ports that a scheme implies are left out of both.
  return URL.canParse(asked) && new URL(asked).host === sender.host;
}
