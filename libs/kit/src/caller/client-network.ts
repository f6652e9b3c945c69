import { isIPv6 } from "node:net";

/**
 * What counts as one client: an IPv4 address, or the /64 of an IPv6 one, within which a client can take addresses at
 * will (RFC 6177). All without an address are one.
 */
export function clientNetwork(address: string | null): string {
  if (address === null) return "unknown";
  if (!isIPv6(address)) return address;
  const short = new URL(`http://[${address.replace(/%.*$/s, "")}]/`).hostname.slice(1, -1);
  const [head = "", tail] = short.split("::");
  const before = groupsOf(head);
  const after = groupsOf(tail ?? "");
  const groups = [...before, ...Array<string>(8 - before.length - after.length).fill("0"), ...after];
  return `${groups.slice(0, 4).join(":")}::/64`;
}

const groupsOf = (text: string) => (text === "" ? [] : text.split(":"));
