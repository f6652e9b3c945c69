import type { ChainRow } from "./chain-row.ts";
import type { Entry } from "./entry.ts";
export type Head = {
    seq: number;
    checksum: string | null;
};
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
export declare const format = 1;
/**
 * Format 1 of the sealed payload: SHA-256, hex, over RFC 8785 canonical JSON. Chain, seq and the previous checksum are
 * inside, so no row can be moved, renumbered or exchanged. Personal fields enter as H(salt ‖ their canonical JSON): erasing
 * them later leaves the chain verifiable.
 */
export declare function checksumOf(entry: Entry, seq: number, prevChecksum: string | null, personalSalt: Buffer): string;
/**
 * The checksum that a found row would have at `seq` after `prevChecksum`; null when it cannot have any: an unknown format, or
 * values that no sealed row has.
 */
export declare function foundChecksum(row: ChainRow, seq: number, prevChecksum: string | null): string | null;
/** Continues a chain from its head: one sealed row per entry, gap-free. `randomBytes` gives as many bytes as asked for. */
export declare function sealChain(head: Head, entries: readonly Entry[], randomBytes: (count: number) => Buffer): SealedEntry[];
//# sourceMappingURL=seal.d.ts.map