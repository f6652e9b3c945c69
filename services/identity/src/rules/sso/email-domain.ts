import { createRequire } from "node:module";
import { domainToASCII } from "node:url";
import type { parse as parseName } from "tldts";

const label = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;

/** A domain name as ASCII in lower case (IDNA), or null when it is none. */
export function asciiDomain(text: string): string | null {
  const trimmed = text.trim().replace(/\.$/, "");
  if (trimmed === "" || /[\s@/:?#\\[\]%]/.test(trimmed)) return null;
  const ascii = domainToASCII(trimmed.toLowerCase());
  const labels = ascii.split(".");
  const isName = labels.length >= 2 && ascii.length <= 253 && labels.every((each) => label.test(each));
  return isName && !/^[0-9]+$/.test(labels.at(-1) ?? "") ? ascii : null;
}

/** The domain of an e-mail address, or null. */
export function domainOf(email: string): string | null {
  const at = email.lastIndexOf("@");
  return at < 1 ? null : asciiDomain(email.slice(at + 1));
}

/** The domains of a comma-separated text, each once, or null when one of them is none. */
export function domainList(text: string): string[] | null {
  const items = text
    .split(",")
    .map((item) => item.trim().replace(/^@/, ""))
    .filter((item) => item !== "");
  const domains = items.map(asciiDomain);
  return domains.includes(null) ? null : [...new Set(domains.filter((domain) => domain !== null))];
}

/** Whether an address may sign in: exactly one of the domains, none of their subdomains; an empty list allows all. */
export function isAllowedDomain(email: string, allowed: readonly string[]): boolean {
  const domain = domainOf(email);
  return domain !== null && (allowed.length === 0 || allowed.includes(domain));
}

/** Domain lists, loaded with the first claim. */
type Lists = { parse: typeof parseName; freeMailDomains: ReadonlySet<string> };
let lists: Lists | null = null;

function readLists(): Lists {
  const load = createRequire(import.meta.url);
  const { parse } = load("tldts") as Pick<Lists, "parse">;
  return { parse, freeMailDomains: new Set(load("free-email-domains") as string[]) };
}

/** Why a domain cannot be claimed, or null. */
export function unclaimable(domain: string): string | null {
  lists ??= readLists();
  const { parse, freeMailDomains } = lists;
  const { domain: registrable, isIp } = parse(domain, { allowPrivateDomains: true });
  if (isIp) return "Must be a domain name";
  if (registrable === null) return "A public suffix cannot be claimed";
  if (freeMailDomains.has(domain) || freeMailDomains.has(registrable))
    return "A domain of a free mail provider cannot be claimed";
  return null;
}
