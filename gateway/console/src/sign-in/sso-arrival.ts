import { nextPath } from "../rules/next-path.ts";

/** Sign-in code in the page's address, whether this tab started that sign-in, and the path to show next. */
export type Arrival = { ssoCode: string; wasStartedHere: boolean; next: string };

const mark = "muster.sso-started";

/**
 * Takes code and tokens out of the address and the history. A code counts only in the tab that started a sign-in: a
 * planted code does not sign in.
 */
export function takeArrival(): Arrival {
  const url = new URL(location.href);
  const ssoCode = new URLSearchParams(url.hash.slice(1)).get("ssoCode") ?? "";
  const wasStartedHere = sessionStorage.getItem(mark) !== null;
  sessionStorage.removeItem(mark);
  const next = nextPath(url.searchParams.get("next"));
  url.hash = "";
  url.searchParams.delete("token");
  history.replaceState(null, "", url);
  return { ssoCode, wasStartedHere, next };
}

/** Leaves for an identity provider; it sends the browser back to this page. */
export function startSso(loginUrl: string, next: string): void {
  sessionStorage.setItem(mark, "1");
  const back = next === "/" ? "/login" : `/login?next=${encodeURIComponent(next)}`;
  location.assign(`${new URL(loginUrl).pathname}?redirect=${encodeURIComponent(back)}`);
}
