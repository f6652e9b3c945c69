import { isMapped, parseAddress } from "./address.ts";

export type Verdict = { public: true } | { public: false; range: string };

type Range = { name: string; bytes: Uint8Array; bits: number };

// IANA's special-purpose registries (RFC 6890 and successors), multicast and class E, and one address of a cloud that
// is public in form alone. Globally reachable entries of the registries (AS112, AMT) are left out.
const ranges4 = ranges(`
  0.0.0.0/8 this network
  10.0.0.0/8 private
  100.64.0.0/10 shared address space
  127.0.0.0/8 loopback
  168.63.129.16/32 cloud metadata
  169.254.0.0/16 link-local
  172.16.0.0/12 private
  192.0.0.0/24 protocol assignments
  192.0.2.0/24 documentation
  192.88.99.0/24 6to4 relay
  192.168.0.0/16 private
  198.18.0.0/15 benchmarking
  198.51.100.0/24 documentation
  203.0.113.0/24 documentation
  224.0.0.0/4 multicast
  240.0.0.0/4 reserved and broadcast`);

// Inside 2000::/3; everything outside of it is not global unicast.
const ranges6 = ranges(`
  2001::/23 protocol assignments
  2001:db8::/32 documentation
  3fff::/20 documentation`);

const global6 = range("2000::/3 global unicast");
const compatible = range("::/96 IPv4-compatible");
const nat64 = range("64:ff9b::/96 NAT64");
const sixToFour = range("2002::/16 6to4");
const teredo = range("2001::/32 Teredo");
const loopback6 = range("::1/128 loopback");
const unspecified6 = range("::/128 unspecified");

/**
 * Whether an address (16 bytes) is one of the public internet. An address that contains an IPv4 address counts as
 * that one: mapped, compatible, NAT64, 6to4; Teredo as both that it contains.
 */
export function verdict(address: Uint8Array): Verdict {
  if (address.length !== 16) throw new RangeError("an address has 16 bytes");
  if (isMapped(address)) return verdict4(address.subarray(12));
  for (const special of [loopback6, unspecified6]) if (within(address, special)) return refused(special);
  if (within(address, compatible) || within(address, nat64)) return verdict4(address.subarray(12));
  if (within(address, sixToFour)) return verdict4(address.subarray(2, 6));
  if (within(address, teredo)) {
    const server = verdict4(address.subarray(4, 8));
    // RFC 4380, 4: the client's address is stored inverted.
    return server.public ? verdict4(address.subarray(12).map((byte) => byte ^ 0xff)) : server;
  }
  if (!within(address, global6)) return { public: false, range: "not global unicast" };
  const special = ranges6.find((each) => within(address, each));
  return special ? refused(special) : { public: true };
}

function verdict4(address: Uint8Array): Verdict {
  const special = ranges4.find((each) => within(address, { ...each, bytes: each.bytes.subarray(12) }));
  return special ? refused(special) : { public: true };
}

export type AddressRange = { bytes: Uint8Array; bits: number };

/** A range such as `10.0.0.0/8`, over addresses of 16 bytes; throws on anything else. */
export function rangeOf(text: string): AddressRange {
  const { bytes, bits } = range(`${text} range`);
  return { bytes, bits: isMapped(bytes) ? bits + 96 : bits };
}

/** Whether an address (16 bytes) is in a range that `rangeOf` made. */
export const isWithin = (address: Uint8Array, wanted: AddressRange): boolean => within(address, wanted);

/** Whether connections may go to an address (16 bytes). */
export type AddressCheck = (address: Uint8Array) => boolean;
export const isPublic: AddressCheck = (address) => verdict(address).public;

const refused = ({ name }: Range): Verdict => ({ public: false, range: name });

function ranges(text: string): Range[] {
  return text.trim().split("\n").map(range);
}

function range(line: string): Range {
  const [, address = "", bits = "", name = ""] = /^\s*([^/\s]+)\/(\d+) (.+)$/.exec(line) ?? [];
  const bytes = parseAddress(address);
  if (!bytes) throw new Error(`not a range: ${line}`);
  return { name, bytes, bits: Number(bits) };
}

function within(address: Uint8Array, { bytes, bits }: AddressRange): boolean {
  const whole = bits >> 3;
  for (let i = 0; i < whole; i++) if (address[i] !== bytes[i]) return false;
  const rest = bits & 7;
  if (rest === 0) return true;
  const mask = 0xff << (8 - rest);
  return ((address[whole] ?? 0) & mask) === ((bytes[whole] ?? 0) & mask);
}
