import { isIPv4, isIPv6 } from "node:net";

/** An address as 16 bytes, IPv4 as `::ffff:a.b.c.d` (RFC 4291, 2.5.5.2); null for anything else, zones included. */
export function parseAddress(text: string): Uint8Array | null {
  if (isIPv4(text)) return mapped(text.split(".").map(Number));
  if (!isIPv6(text) || text.includes("%")) return null;
  const [head = "", tail] = text.split("::");
  const front = groups(head);
  const back = tail === undefined ? [] : groups(tail);
  const bytes = new Uint8Array(16);
  bytes.set(front);
  bytes.set(back, 16 - back.length);
  return bytes;
}

/** The usual text of an address: dotted for IPv4 and mapped IPv4, eight groups otherwise. */
export function addressText(bytes: Uint8Array): string {
  if (isMapped(bytes)) return bytes.subarray(12).join(".");
  const words = Array.from({ length: 8 }, (_, i) =>
    (((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0)).toString(16),
  );
  return words.join(":");
}

export function isMapped(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
}

function mapped(parts: readonly number[]): Uint8Array {
  return Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, ...parts]);
}

function groups(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (group.includes(".")) return group.split(".").map(Number);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}
