import { hash } from "node:crypto";
import { canonicalJson, jsonText as text } from "./canonical-json.ts";
import type { ChainRow } from "./chain-row.ts";
import type { Entry } from "./entry.ts";

export type Head = { seq: number; checksum: string | null };
export type SealedEntry = {
  entry: Entry;
  /** The details as they were hashed. */
  detailsJson: string;
  seq: number;
  format: number;
  personalSalt: Buffer;
  checksum: string;
  prevChecksum: string | null;
};

export const format = 1;
const saltBytes = 16;

/**
 * Format 1 of the sealed payload: SHA-256, hex, over RFC 8785 canonical JSON. Chain, seq and the previous checksum are
 * inside, so no row can be moved, renumbered or exchanged. Personal fields enter as H(salt ‖ their canonical JSON): erasing
 * them later leaves the chain verifiable.
 */
export function checksumOf(entry: Entry, seq: number, prevChecksum: string | null, personalSalt: Buffer): string {
  const personal = personalDigest(entry, personalSalt);
  return hash("sha256", payload(entry, canonicalJson(entry.details), seq, prevChecksum, personal), "hex");
}

/**
 * The checksum that a found row would have at `seq` after `prevChecksum`; null when it cannot have any: an unknown format, or
 * values that no sealed row has.
 */
export function foundChecksum(row: ChainRow, seq: number, prevChecksum: string | null): string | null {
  if (row.format !== format) return null;
  try {
    const personal = row.personalDigest ?? personalDigest(row.entry, row.personalSalt);
    return hash("sha256", payload(row.entry, canonicalJson(row.entry.details), seq, prevChecksum, personal), "hex");
  } catch {
    // A time out of range, a value that JSON has not: not what was sealed.
    return null;
  }
}

/** Continues a chain from its head: one sealed row per entry, gap-free. `randomBytes` gives as many bytes as asked for. */
export function sealChain(
  head: Head,
  entries: readonly Entry[],
  randomBytes: (count: number) => Buffer,
): SealedEntry[] {
  const salts = randomBytes(saltBytes * entries.length);
  let { seq, checksum } = head;
  return entries.map((entry, index) => {
    seq += 1;
    const personalSalt = salts.subarray(index * saltBytes, (index + 1) * saltBytes);
    const detailsJson = canonicalJson(entry.details);
    const prevChecksum = checksum;
    const personal = personalDigest(entry, personalSalt);
    checksum = hash("sha256", payload(entry, detailsJson, seq, prevChecksum, personal), "hex");
    return { entry, detailsJson, seq, format, personalSalt, checksum, prevChecksum };
  });
}

// Canonical order is written down here, so that no row has to be sorted. A found row may hold anything anywhere: every text is escaped.
function payload(e: Entry, detailsJson: string, seq: number, prevChecksum: string | null, personal: string): string {
  return (
    `{"action":${text(e.action)},"actorDepartment":${text(e.actorDepartment)},"actorId":${text(e.actorId)},` +
    `"actorRole":${text(e.actorRole)},"actorType":${text(e.actorType)},"chainId":${text(e.chainId)},` +
    `"details":${detailsJson},"errorMessage":${text(e.errorMessage)},"id":${text(e.id)},"orgId":${text(e.orgId)},` +
    `"partnerId":${text(e.partnerId)},"personal":"${personal}","prevChecksum":${text(prevChecksum)},` +
    `"resourceId":${text(e.resourceId)},"resourceName":${text(e.resourceName)},"resourceType":${text(e.resourceType)},` +
    `"result":${text(e.result)},"seq":${seq},"sessionId":${text(e.sessionId)},` +
    `"timestamp":"${e.timestamp.toISOString()}","v":${format}}`
  );
}

// Both parts in one piece, without a buffer for each row: texts of people are far shorter.
const scratch = Buffer.allocUnsafe(16_384);

function personalDigest(e: Entry, salt: Buffer): string {
  const personal =
    `{"actorEmail":${text(e.actorEmail)},"actorName":${text(e.actorName)},"ipAddress":${text(e.ipAddress)},` +
    `"userAgent":${text(e.userAgent)}}`;
  if (salt.length + personal.length * 3 > scratch.length) {
    return hash("sha256", Buffer.concat([salt, Buffer.from(personal)]), "hex");
  }
  salt.copy(scratch);
  const end = salt.length + scratch.write(personal, salt.length, "utf8");
  return hash("sha256", scratch.subarray(0, end), "hex");
}
