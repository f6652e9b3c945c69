/**
 * Values of the headers that have a grammar of their own and may hold text that someone stored or sent: nothing in such
 * a text ends a part of the header or begins another. Other code writes none of these headers (`npm run lint`).
 */

/** A text that no header may be made of: an error of ours, since it was validated when it was stored. */
export class HeaderError extends Error {
  constructor(header: string) {
    super(`${header} cannot be made of this text`);
    this.name = "HeaderError";
  }
}

/** Letters, digits and hyphens between dots (CSP 3, `host-part`), without wildcards; IPv6 is not in that grammar. */
const plainHost = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/;
/** What separates directives, policies and sources is in none (CSP 3, `directive-value`). */
const cspToken = /^[\x21-\x2b\x2d-\x3a\x3c-\x7e]+$/;

/** The origin of an https URL with a plain host, as a source of a content security policy; null for any other text. */
export function cspOrigin(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const { protocol, hostname, origin } = new URL(url);
  return protocol === "https:" && plainHost.test(hostname) ? origin : null;
}

/** Throws HeaderError on a source that would end its directive. */
export function cspLine(directives: Readonly<Record<string, readonly string[]>>): [string, string] {
  const parts = Object.entries(directives).map(([name, sources]) => {
    if (!sources.every((source) => cspToken.test(source))) throw new HeaderError("Content-Security-Policy");
    return [name, ...sources].join(" ");
  });
  return ["Content-Security-Policy", parts.join("; ")];
}

/** Whether a browser can be sent there: an absolute http(s) URL. */
export function isLocation(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

/** The URL in ASCII, as browsers read it (WHATWG URL). Throws HeaderError on what is no `isLocation`. */
export function locationLine(url: string): [string, string] {
  if (!isLocation(url)) throw new HeaderError("Location");
  return ["Location", new URL(url).href];
}

const tokenText = /^[A-Za-z0-9][A-Za-z0-9._+-]*$/;

/**
 * `attachment` under a file name (RFC 6266). A name of other characters than letters, digits and `._+-` is sent twice:
 * with `_` in their place, and whole (RFC 8187).
 */
export function attachment(name: string): string {
  const wellFormed = name.replace(/\p{Surrogate}/gu, "\ufffd");
  const plain = wellFormed.replace(/[^A-Za-z0-9._+-]/gu, "_").replace(/^[^A-Za-z0-9]/, "_");
  const quoted = `attachment; filename="${plain}"`;
  return tokenText.test(wellFormed) ? quoted : `${quoted}; filename*=UTF-8''${extValue(wellFormed)}`;
}

export const attachmentLine = (name: string): [string, string] => ["Content-Disposition", attachment(name)];

/** What `encodeURIComponent` leaves and RFC 8187 (`attr-char`) does not. */
const extValue = (text: string) =>
  encodeURIComponent(text).replace(/['()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);

/** A strong entity tag of hexadecimal digits (RFC 9110 section 8.8.3). Throws HeaderError on another text. */
export function entityTag(hex: string): string {
  if (!/^[0-9a-f]+$/.test(hex)) throw new HeaderError("ETag");
  return `"${hex}"`;
}

/** The weak entity tag of a version (RFC 9110 section 8.8.3). */
export const weakEntityTag = (version: bigint | number): string => `W/"${version}"`;

/** A cookie's name and value, before its attributes (RFC 6265 section 4.1.1). Throws HeaderError on another text. */
export function cookiePair(name: string, value: string): string {
  if (!/^[A-Za-z0-9_-]+$/.test(name) || !/^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/.test(value)) {
    throw new HeaderError("Set-Cookie");
  }
  return `${name}=${value}`;
}

/** A whole cookie as another process of ours made it of `cookiePair`. Throws HeaderError on more than one line. */
export function cookieLine(cookie: string): [string, string] {
  if (!/^[\x20-\x7e]+$/.test(cookie)) throw new HeaderError("Set-Cookie");
  return ["Set-Cookie", cookie];
}
