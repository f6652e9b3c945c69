/** The page to go to after a sign-in: a path of this origin with its query, else `/`. */
export function nextPath(wanted: string | null): string {
  if (wanted === null || !/^\/(?![/\\])/.test(wanted)) return "/";
  const base = "https://console.invalid";
  if (!URL.canParse(wanted, base)) return "/";
  const url = new URL(wanted, base);
  const isSignIn = /^\/(login|reset-password|accept-invite|unsubscribe)(\/|$)/.test(url.pathname);
  // The parsed URL decides, not the text: the parser drops tabs and line ends.
  if (url.origin !== base || url.pathname.startsWith("//") || isSignIn) return "/";
  return `${url.pathname}${url.search}`;
}
