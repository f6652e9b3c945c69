import { randomFillSync } from "node:crypto";

const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const uuidBytes = 16;
/** Random bytes that become the next ids. */
const pool = Buffer.alloc(uuidBytes * 256);
let used = pool.length;

/**
 * UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, then random bits. Sorts by time across processes to the millisecond.
 */
export function uuidv7(nowMs: number = Date.now()): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  pool.writeUIntBE(nowMs, used, 6);
  pool.writeUInt8((pool.readUInt8(used + 6) & 0x0f) | 0x70, used + 6);
  pool.writeUInt8((pool.readUInt8(used + 8) & 0x3f) | 0x80, used + 8);
  const hex = pool.toString("hex", used, used + uuidBytes);
  used += uuidBytes;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export function isUuid(value: string): boolean {
  return pattern.test(value);
}
