import { isMapped, parseAddress } from "./address.ts";
import { type AddressRange, isWithin, rangeOf, verdict } from "./verdict.ts";

/** Kinds of sinks that an operator may let into private networks. */
export const sinkTypes = ["https", "s3", "syslog"] as const;
export type SinkType = (typeof sinkTypes)[number];
export type SinkRanges = ReadonlyMap<SinkType, readonly AddressRange[]>;

// Nothing else can be opened: never loopback, link-local with the metadata of clouds, multicast, or what embeds others.
const openable = ["10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"].map(rangeOf);
/** Metadata of clouds inside of what may be opened. */
const metadata = ["100.100.100.200/32", "fd00:ec2::254/128"].map(rangeOf);

/**
 * Parses `AUDIT_SINK_ALLOWED_CIDRS`: `type:cidr[,…]`, the type one of `sinkTypes`. Throws on anything that it does not
 * understand, and on a range that is not private.
 */
export function parseSinkRanges(text: string): SinkRanges {
  const ranges = new Map<SinkType, AddressRange[]>();
  for (const item of itemsOf(text)) {
    const separator = item.indexOf(":");
    const type = sinkTypes.find((each) => each === item.slice(0, separator));
    if (!type) throw new Error(`AUDIT_SINK_ALLOWED_CIDRS: "${item}" is not ${sinkTypes.join(", ")} and a range`);
    const range = rangeIn(item.slice(separator + 1), "AUDIT_SINK_ALLOWED_CIDRS");
    if (!openable.some((whole) => whole.bits <= range.bits && isWithin(range.bytes, whole))) {
      throw new Error(`AUDIT_SINK_ALLOWED_CIDRS: ${item} is not inside of a private range`);
    }
    ranges.set(type, [...(ranges.get(type) ?? []), range]);
  }
  return ranges;
}

/** Parses ranges that are never opened: those of the cluster itself. Throws on anything it does not understand. */
export const parseClosedRanges = (text: string): AddressRange[] =>
  itemsOf(text).map((item) => rangeIn(item, "AUDIT_SINK_CLUSTER_CIDRS"));

/**
 * Whether a sink of this type may have an address (16 bytes): a public one, or one that the operator has opened for its
 * type and that is none of `closed`.
 */
export function sinkAddressCheck(type: SinkType, allowed: SinkRanges, closed: readonly AddressRange[]) {
  const opened = allowed.get(type) ?? [];
  const shut = [...closed, ...metadata];
  return (address: Uint8Array): boolean => {
    if (verdict(address).public) return !closed.some((range) => isWithin(address, range));
    if (shut.some((range) => isWithin(address, range))) return false;
    return opened.some((range) => isWithin(address, range));
  };
}

const itemsOf = (text: string) =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

function rangeIn(text: string, setting: string): AddressRange {
  const [address = "", length] = text.split("/");
  const bytes = parseAddress(address);
  const most = bytes && isMapped(bytes) ? 32 : 128;
  const bits = length ?? String(most);
  if (!bytes || !/^\d{1,3}$/.test(bits) || Number(bits) > most) throw new Error(`${setting}: "${text}" is not a range`);
  return rangeOf(`${address}/${bits}`);
}
