import type { Entry } from "./entry.ts";

/** A sealed row as it was found: every value may have been tampered with. */
export type ChainRow = {
  entry: Entry;
  seq: number;
  format: number;
  personalSalt: Buffer;
  /** Replaces the personal fields and their salt once they were erased; hex. */
  personalDigest: string | null;
  checksum: string;
  prevChecksum: string | null;
};
