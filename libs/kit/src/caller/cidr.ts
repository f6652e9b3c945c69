import { isIP, SocketAddress } from "node:net";

/**
 * The canonical form of an address or CIDR range: host bits zero, length always there, IPv6 as in RFC 5952, IPv4-mapped
 * IPv6 as IPv4. Null when it is neither.
 */
export function canonicalCidr(text: string): string | null {
  const [address = "", length, ...rest] = text.trim().split("/");
  const version = isIP(address);
  if (version === 0 || address.includes("%") || rest.length > 0) return null;
  if (length !== undefined && !/^(0|[1-9]\d{0,2})$/.test(length)) return null;
  const bits = version === 4 ? 32 : 128;
  const prefix = length === undefined ? bits : Number(length);
  if (prefix > bits) return null;
  if (version === 4) return rangeOf(bytesOfV4(address), prefix, ipv4);
  const bytes = bytesOfV6(address);
  const mapped = prefix >= 96 && bytes.slice(0, 10).every((b) => b === 0) && bytes[10] === 255 && bytes[11] === 255;
  return mapped ? rangeOf(bytes.slice(12), prefix - 96, ipv4) : rangeOf(bytes, prefix, ipv6);
}

function rangeOf(bytes: readonly number[], prefix: number, textOf: (bytes: readonly number[]) => string): string {
  const network = bytes.map((byte, i) => byte & (0xff00 >> Math.min(Math.max(prefix - i * 8, 0), 8)) & 0xff);
  return `${textOf(network)}/${prefix}`;
}

const ipv4 = (bytes: readonly number[]) => bytes.join(".");

function ipv6(bytes: readonly number[]): string {
  const groups = Array.from({ length: 8 }, (_, i) =>
    (((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0)).toString(16),
  );
  return new SocketAddress({ address: groups.join(":"), family: "ipv6" }).address;
}

const bytesOfV4 = (address: string) => address.split(".").map(Number);

function bytesOfV6(address: string): number[] {
  // A dotted tail (RFC 4291, section 2.2) represents the last two groups.
  const dotted = /(?:\d{1,3}\.){3}\d{1,3}$/.exec(address)?.[0];
  const tail = dotted ? bytesOfV4(dotted) : [];
  const hex = dotted ? address.slice(0, -dotted.length) : address;
  const [head = "", after] = hex.split("::");
  const groups = (text: string) =>
    text
      .split(":")
      .filter((group) => group !== "")
      .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]);
  const left = groups(head);
  const right = [...groups(after ?? ""), ...tail];
  return [...left, ...new Array<number>(16 - left.length - right.length).fill(0), ...right];
}
