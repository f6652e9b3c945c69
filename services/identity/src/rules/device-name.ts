const browsers: readonly [RegExp, string][] = [
  [/\bEdgA?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bFirefox\/|\bFxiOS\//, "Firefox"],
  [/\bChrom(e|ium)\/|\bCriOS\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];

const systems: readonly [RegExp, string][] = [
  [/\b(iPhone|iPod)\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b|\bMacintosh\b/, "macOS"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
];

/**
 * Name and numeric version of a program, without text that a mail program would turn into a link: any client can
 * request a password link for any account, with a user agent of its choice, and that mail contains this name.
 */
const program = /^([A-Za-z][\w-]{0,31})(\/\d{1,5}(?:\.\d{1,5}){0,3})?(?![^\s(/])/;

/** What people would call the client of a session: `CLI: laptop` when they approved it by its own name. */
export const sessionName = (session: { client_name: string | null; user_agent: string | null }): string =>
  session.client_name === null ? deviceName(session.user_agent) : `CLI: ${session.client_name}`;

/** What people would call the client of a user agent: `Firefox on Linux`, `curl/8.1`; it is the client's own word. */
export function deviceName(userAgent: string | null): string {
  if (!userAgent) return "Unknown device";
  const [, browser] = browsers.find(([pattern]) => pattern.test(userAgent)) ?? [];
  const [, system] = systems.find(([pattern]) => pattern.test(userAgent)) ?? [];
  if (browser && system) return `${browser} on ${system}`;
  const named = browser ?? system;
  if (named) return named;
  // Programs name themselves in the first product (RFC 9110, section 10.1.5).
  const [, name, version = ""] = program.exec(userAgent) ?? [];
  return name ? `${name}${version}` : "Unknown device";
}
