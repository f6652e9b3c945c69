import { withoutTrailing } from "@muster/kit";
import { parseAddress } from "./address.ts";
import { isBadPort } from "./bad-ports.ts";
import { type Exceptions, noExceptions } from "./exceptions.ts";
import { EgressRefused } from "./refused.ts";
import { type AddressCheck, isPublic } from "./verdict.ts";

/** A target that the text of its URL permits; a host name must also resolve to a permitted address. */
export type Target = {
  url: URL;
  /** Path and query, as requests name them. */
  path: string;
  /** Scheme, host and port. */
  origin: string;
  /** Lower case, without brackets and without a trailing dot. */
  host: string;
  /** The host is an address itself. */
  literal: boolean;
  /** The address that replaces the name's in tests; null elsewhere. */
  pinned: string | null;
};

const maxLength = 2_048;
// WHATWG parsing drops or rewrites these silently, so that people and parsers would read different hosts.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const misleading = /[\u0000-\u0020\u007f\\]/;

/**
 * Validates a URL without a look-up: https only, no local host name, no address that `isPermitted` refuses, in whatever
 * notation (the URL standard's parser makes decimal, octal, hex, short and full-width forms one), no port that browsers
 * refuse. Throws EgressRefused.
 */
export function validateUrl(
  text: string,
  exceptions: Exceptions = noExceptions,
  isPermitted: AddressCheck = isPublic,
): Target {
  if (text.length > maxLength) throw new EgressRefused("too_long");
  if (misleading.test(text) || !URL.canParse(text)) throw new EgressRefused("not_a_url");
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") throw new EgressRefused("not_https");
  const host = hostOf(url);
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  const pinned = exceptions.get(`${url.protocol}//${host}:${port}`) ?? null;
  const origin = url.origin;
  const path = `${url.pathname}${url.search}`;
  if (pinned !== null) return { url, path, origin, host, literal: false, pinned };
  if (url.protocol !== "https:") throw new EgressRefused("not_https");
  const address = parseAddress(host);
  if (address && !isPermitted(address)) throw new EgressRefused("address_not_public");
  if (host === "" || /(^|\.)(localhost|local)$/.test(host)) throw new EgressRefused("hostname_not_allowed");
  if (isBadPort(Number(port))) throw new EgressRefused("port_not_allowed");
  return { url, path, origin, host, literal: address !== null, pinned };
}

function hostOf({ hostname }: URL): string {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return withoutTrailing(bare.toLowerCase(), ".");
}

/** The URL in displayable form: without userinfo, fragment, and parameters whose name or value suggests a secret. */
export function shownUrl(text: string): string {
  const url = new URL(text);
  url.username = "";
  url.password = "";
  for (const [name, value] of [...url.searchParams]) {
    if (isToken(name, value)) url.searchParams.delete(name);
  }
  url.hash = "";
  return url.href;
}

const tokenName =
  /(token|sig|signature|secret|password|passwd|pwd|key|auth|credential|code|jwt|session|hmac|hash|^x-amz-|^x-goog-|^s[eprtv]$|^sk[a-z]{1,3}$)/i;

function isToken(name: string, value: string): boolean {
  return tokenName.test(name) || (value.length >= 20 && /^[A-Za-z0-9+/_=.~-]+$/.test(value) && /\d/.test(value));
}
