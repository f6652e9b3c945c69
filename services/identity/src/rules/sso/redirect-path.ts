const most = 500;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const misleading = /[\u0000-\u0020\u007f\\]/;
/** Encodings that a client which decodes twice reads as another host. */
const encodedHost = /^\/(?:%2f|%5c)/i;

/**
 * The app's page after a sign-in: a path of this origin with its query, else `/`. Excludes every form that some client
 * could read as another host: one leading slash, no backslash, no control character, no encoded slash behind the first.
 */
export function redirectPath(wanted: string): string {
  if (wanted.length > most || !wanted.startsWith("/") || misleading.test(wanted)) return "/";
  if (wanted.includes("//") || wanted.includes("#")) return "/";
  const base = "https://app.invalid";
  if (!URL.canParse(wanted, base)) return "/";
  const url = new URL(wanted, base);
  const path = `${url.pathname}${url.search}`;
  // Judged as the browser will read it: `/./%2fhost` is `/%2fhost` by then.
  return url.origin === base && !path.startsWith("//") && !encodedHost.test(path) && path.length <= most ? path : "/";
}
