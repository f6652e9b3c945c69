import { createHash } from "node:crypto";
import canonicalizeExport from "canonicalize";
import type { Entry } from "./entry.ts";

export type Head = { seq: number; checksum: string | null };
export type SealedEntry = Entry & {
  seq: number;
  format: number;
  personalSalt: Buffer;
  checksum: string;
  prevChecksum: string | null;
};

// Its types say ES module, its code is CommonJS: the default export is the function itself.
const canonicalize = canonicalizeExport as unknown as (value: unknown) => string | undefined;

export const format = 1;

/**
 * Format 1 of the sealed payload: SHA-256, hex, over RFC 8785 canonical JSON. Chain, seq and the previous checksum are
 * inside, so no row can be moved, renumbered or exchanged. Personal fields enter as H(salt ‖ their canonical JSON): erasing
 * them later leaves the chain verifiable.
 */
export function checksumOf(entry: Entry, seq: number, prevChecksum: string | null, personalSalt: Buffer): string {
  return sha256(
    canonicalJson({
      v: format,
      chainId: entry.chainId,
      orgId: entry.orgId,
      partnerId: entry.partnerId,
      seq,
      prevChecksum,
      id: entry.id,
      timestamp: entry.timestamp.toISOString(),
      actorType: entry.actorType,
      actorId: entry.actorId,
      actorRole: entry.actorRole,
      actorDepartment: entry.actorDepartment,
      sessionId: entry.sessionId,
      action: entry.action,
      resourceType: entry.resourceType,
      resourceId: entry.resourceId,
      resourceName: entry.resourceName,
      details: entry.details,
      personal: personalDigest(entry, personalSalt),
      result: entry.result,
      errorMessage: entry.errorMessage,
    }),
  );
}

/** Continues a chain from its head: one sealed row per entry, gap-free. `newSalt` gives 16 random bytes. */
export function sealChain(head: Head, entries: readonly Entry[], newSalt: () => Buffer): SealedEntry[] {
  let { seq, checksum } = head;
  return entries.map((entry) => {
    seq += 1;
    const personalSalt = newSalt();
    const prevChecksum = checksum;
    checksum = checksumOf(entry, seq, prevChecksum, personalSalt);
    return { ...entry, seq, format, personalSalt, checksum, prevChecksum };
  });
}

function personalDigest(entry: Entry, salt: Buffer): string {
  const personal = canonicalJson({
    actorEmail: entry.actorEmail,
    actorName: entry.actorName,
    ipAddress: entry.ipAddress,
    userAgent: entry.userAgent,
  });
  return createHash("sha256").update(salt).update(personal).digest("hex");
}

function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new Error("value has no canonical JSON");
  return text;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
