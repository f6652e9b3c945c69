const most = 500;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const misleading = /[\u0000-\u0020\u007f\\]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const control = /[\u0000-\u001f\u007f]/;
const otherHost = /^[/\\]{2}/;
/** Times that some client decodes an address: a proxy, a framework and a script of the page. */
const decodings = 3;
const ascii = /%([0-7][\da-f])/gi;

/**
 * The app's page after a sign-in: a path of this origin with its query, else `/`. Excludes every form that some client
 * could read as another host or as a line's end, also when it decodes more than once: one leading slash, no backslash,
 * no control character, none of these encoded.
 */
export function redirectPath(wanted: string): string {
  if (wanted.length > most || !wanted.startsWith("/") || misleading.test(wanted)) return "/";
  if (wanted.includes("//") || wanted.includes("#")) return "/";
  const base = "https://app.invalid";
  if (!URL.canParse(wanted, base)) return "/";
  const url = new URL(wanted, base);
  const path = `${url.pathname}${url.search}`;
  // Checked as the browser will read it: `/./%2fhost` is `/%2fhost` by then.
  return url.origin === base && !isMisread(path) && path.length <= most ? path : "/";
}

function isMisread(path: string): boolean {
  let text = path;
  for (let n = 0; n <= decodings; n++) {
    if (control.test(text) || otherHost.test(text)) return true;
    text = text.replaceAll(ascii, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
  return false;
}
