import { hash } from "node:crypto";
import { canonicalJson, jsonText as text } from "./canonical-json.ts";
import type { ChainRow } from "./chain-row.ts";
import type { Entry } from "./entry.ts";
import { areTargets } from "./targets.ts";

export type Head = { seq: number; checksum: string | null };
export type SealedEntry = {
  entry: Entry;
  /** The details as they were hashed. */
  detailsJson: string;
  /** The time as it was hashed. */
  time: string;
  seq: number;
  format: number;
  /** Hex. */
  personalSalt: string;
  checksum: string;
  prevChecksum: string | null;
};

/**
 * Format 2 is format 1 with `targets`; rows without them stay in format 1. A row whose format is not the one of its
 * values is altered: targets could be added unseen to a row of format 1 otherwise.
 */
const formatOf = ({ targets }: Entry): 1 | 2 => (targets === undefined ? 1 : 2);
const saltBytes = 16;

/**
 * Formats 1 and 2 of the sealed payload: SHA-256, hex, over RFC 8785 canonical JSON. Chain, seq and the previous
 * checksum are inside, so no row can be moved, renumbered or exchanged. Personal fields enter as H(salt ‖ their
 * canonical JSON): erasing them later leaves the chain verifiable.
 */
export function checksumOf(entry: Entry, seq: number, prevChecksum: string | null, personalSalt: Buffer): string {
  const personal = personalDigest(entry, personalSalt);
  return hash("sha256", payloadOf(entry, seq, prevChecksum, personal), "hex");
}

/**
 * The checksum that a found row would have at `seq` after `prevChecksum`; null when it cannot have any: an unknown
 * format, or values that no sealed row has.
 */
export function foundChecksum(row: ChainRow, seq: number, prevChecksum: string | null): string | null {
  if (!isSupportedFormat(row) || row.format !== formatOf(row.entry)) return null;
  if (row.entry.targets !== undefined && !areTargets(row.entry.targets)) return null;
  try {
    const personal = row.personalDigest ?? personalDigest(row.entry, row.personalSalt);
    return hash("sha256", payloadOf(row.entry, seq, prevChecksum, personal), "hex");
  } catch {
    // A time out of range, a value that JSON has not: not what was sealed.
    return null;
  }
}

/** Whether this version can compute the checksum of a row that says it was sealed in this format. */
export const isSupportedFormat = (row: Pick<ChainRow, "format">): boolean => row.format === 1 || row.format === 2;

/** The format that a row with such values has. */
export const formatOfRow = ({ entry }: Pick<ChainRow, "entry">): number => formatOf(entry);

/**
 * Continues a chain from its head: one sealed row per entry, gap-free. `randomBytes` returns the requested number of
 * bytes.
 */
export function sealChain(
  head: Head,
  entries: readonly Entry[],
  randomBytes: (count: number) => Buffer,
): SealedEntry[] {
  // Made and written as hex for all rows at once: a buffer for each costs more than its salt.
  const salts = randomBytes(saltBytes * entries.length);
  const saltsHex = salts.toString("hex");
  let { seq, checksum } = head;
  return entries.map((entry, index) => {
    seq += 1;
    const at = index * saltBytes;
    const personalSalt = saltsHex.substring(at * 2, (at + saltBytes) * 2);
    const detailsJson = canonicalJson(entry.details);
    const time = entry.timestamp.toISOString();
    const prevChecksum = checksum;
    const personal = personalDigest(entry, salts, at, at + saltBytes);
    checksum = hash("sha256", payload(entry, detailsJson, time, seq, prevChecksum, personal), "hex");
    return { entry, detailsJson, time, seq, format: formatOf(entry), personalSalt, checksum, prevChecksum };
  });
}

function payloadOf(entry: Entry, seq: number, prevChecksum: string | null, personal: string): string {
  return payload(entry, canonicalJson(entry.details), entry.timestamp.toISOString(), seq, prevChecksum, personal);
}

// Canonical order is written down here, so that no row has to be sorted. A found row may hold anything anywhere: every
// text is escaped.
function payload(
  e: Entry,
  detailsJson: string,
  time: string,
  seq: number,
  prevChecksum: string | null,
  personal: string,
): string {
  return (
    `{"action":${text(e.action)},"actorDepartment":${text(e.actorDepartment)},"actorId":${text(e.actorId)},` +
    `"actorRole":${text(e.actorRole)},"actorType":${text(e.actorType)},"chainId":${text(e.chainId)},` +
    `"details":${detailsJson},"errorMessage":${text(e.errorMessage)},"id":${text(e.id)},"orgId":${text(e.orgId)},` +
    `"partnerId":${text(e.partnerId)},"personal":"${personal}","prevChecksum":${text(prevChecksum)},` +
    `"resourceId":${text(e.resourceId)},"resourceName":${text(e.resourceName)},"resourceType":${text(e.resourceType)},` +
    `"result":${text(e.result)},"seq":${seq},"sessionId":${text(e.sessionId)},` +
    (e.targets === undefined ? "" : `"targets":${canonicalJson(e.targets)},`) +
    `"timestamp":"${time}","v":${formatOf(e)}}`
  );
}

// Both parts in one piece, without a buffer for each row: texts of users are far shorter.
const scratch = Buffer.allocUnsafe(16_384);

function personalDigest(e: Entry, salts: Buffer, from = 0, to = salts.length): string {
  const personal =
    `{"actorEmail":${text(e.actorEmail)},"actorName":${text(e.actorName)},"ipAddress":${text(e.ipAddress)},` +
    `"userAgent":${text(e.userAgent)}}`;
  const saltLength = to - from;
  if (saltLength + personal.length * 3 > scratch.length) {
    return hash("sha256", Buffer.concat([salts.subarray(from, to), Buffer.from(personal)]), "hex");
  }
  salts.copy(scratch, 0, from, to);
  const end = saltLength + scratch.write(personal, saltLength, "utf8");
  return hash("sha256", scratch.subarray(0, end), "hex");
}
