import { BlockList, isIP } from "node:net";
import type { Inbound } from "./headers.ts";

/** Loopback, RFC 1918, RFC 6598, link-local and unique local addresses: the usual ones of an operator's own proxies. */
export const privateCidrs = [
  "127.0.0.0/8",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "169.254.0.0/16",
  "::1/128",
  "fc00::/7",
  "fe80::/10",
];

export type ClientAddressRule = (peer: string | undefined, inbound: Inbound) => string | null;

/** An address in its one canonical text: lower case, shortest form, `::ffff:a.b.c.d` as IPv4. Null when it is none. */
export function canonicalAddress(text: string): string | null {
  const family = isIP(text);
  if (family === 4) return text;
  if (family !== 6 || text.includes("%")) return null;
  const short = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short);
  if (!mapped) return short;
  const high = Number.parseInt(mapped[1] as string, 16);
  const low = Number.parseInt(mapped[2] as string, 16);
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** A matcher over CIDR blocks. Throws a RangeError that names the first block that is not one. */
export function cidrList(cidrs: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [network = "", bits = ""] = cidr.split("/");
    const family = isIP(network);
    if (family === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128)) {
      throw new RangeError(`"${cidr}" is not a CIDR block`);
    }
    list.addSubnet(network, Number(bits), family === 4 ? "ipv4" : "ipv6");
  }
  return (address) => list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
}

/**
 * The client's address (docs/behaviour.md#addresses). Proxy headers count only when they are trusted and
 * the peer is a trusted proxy; then in order: the edge's own header, X-Forwarded-For's right-most hop that is no proxy
 * of ours, X-Real-IP. A text that is not exactly one address is passed over.
 */
export function clientAddressRule(options: {
  trustHeaders: boolean;
  trustedCidrs: readonly string[];
}): ClientAddressRule {
  const trusted = cidrList(options.trustedCidrs);
  return (peerText, inbound) => {
    const peer = peerText === undefined ? null : canonicalAddress(peerText.replace(/%.*$/s, ""));
    if (peer === null || !options.trustHeaders || !trusted(peer)) return peer;
    const edge = inbound.edgeAddress === null ? null : canonicalAddress(inbound.edgeAddress.trim());
    if (edge !== null) return edge;
    if (inbound.forwardedFor !== null) return rightmostUntrusted(peer, inbound.forwardedFor, trusted);
    return (inbound.realIp === null ? null : canonicalAddress(inbound.realIp.trim())) ?? peer;
  };
}

/**
 * Walks from the nearest proxy outwards; a hop that is not an address ends the walk at the last one that a trusted
 * proxy confirmed.
 */
function rightmostUntrusted(peer: string, forwardedFor: string, trusted: (address: string) => boolean): string {
  let nearest = peer;
  const hops = forwardedFor.split(",");
  for (let i = hops.length - 1; i >= 0; i--) {
    const hop = canonicalAddress((hops[i] as string).trim());
    if (hop === null) return nearest;
    if (!trusted(hop)) return hop;
    nearest = hop;
  }
  return nearest;
}
