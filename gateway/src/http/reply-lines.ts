import type { Route } from "../route/route.ts";

const noStore: readonly string[] = ["Cache-Control", "no-store"];
const privately: readonly string[] = ["Cache-Control", "private, no-store"];
const noReferrer: readonly string[] = ["Referrer-Policy", "no-referrer"];

/**
 * Lines that keep a row's reply out of caches and its address out of Referer. Replies to authenticated callers are
 * private, unless the reply has its own `Cache-Control`, which is null without one and "" when the lines contain it
 * already.
 */
export function privacyOf(
  { access, noStore: secret, noReferrer: hidden }: Route,
  own: string | null,
): readonly string[] | null {
  const caching =
    own !== null
      ? own === ""
        ? null
        : ["Cache-Control", own]
      : access.auth !== "none"
        ? privately
        : secret
          ? noStore
          : null;
  return joined(caching, hidden ? noReferrer : null);
}

/** "" when the lines contain a `Cache-Control`, else null. */
export function cachingOf(lines: readonly string[]): "" | null {
  for (let i = 0; i < lines.length; i += 2) if (lines[i]?.toLowerCase() === "cache-control") return "";
  return null;
}

/** All lines in one flat list; null when there is none. */
export function joined(...lists: (readonly string[] | null)[]): readonly string[] | null {
  let only: readonly string[] | null = null;
  for (const list of lists) if (list !== null) only = only === null ? list : [...only, ...list];
  return only;
}
