import { isChainId, isSeq, linesOf } from "./note-lines.ts";

/** The receipt of a prune: rows first..last of a chain were removed, and the next row links to `lastChecksum`. */
export type Receipt = {
  chainId: string;
  firstSeq: number;
  lastSeq: number;
  lastChecksum: string;
  prunedAt: Date;
  /** SHA-256, hex, of the archived chunk's manifest; null when nothing was archived. */
  archiveDigest: string | null;
};

const hex64 = /^[0-9a-f]{64}$/;

/**
 * Text of a prune receipt, to be signed as a note. Its origin differs from a checkpoint's, so none passes for the
 * other.
 */
export function receiptText(deployment: string, r: Receipt): string {
  return (
    `${deployment}/audit/${r.chainId}/prune\n${r.firstSeq}\n${r.lastSeq}\n${r.lastChecksum}\n${r.prunedAt.toISOString()}\n` +
    `${r.archiveDigest ?? "-"}\n`
  );
}

/**
 * Parses the output of `receiptText`; null for other text, or for another deployment's. `deployment` null accepts any.
 */
export function parseReceipt(text: string, deployment: string | null): Receipt | null {
  const [origin = "", first = "", last = "", lastChecksum = "", time = "", archive = "", ...rest] = linesOf(text);
  const [, signedDeployment = "", chainId = ""] = /^(.+)\/audit\/([0-9a-f-]{36})\/prune$/.exec(origin) ?? [];
  const prunedAt = new Date(time);
  const isReceipt =
    rest.length === 0 &&
    isChainId(chainId) &&
    isSeq(first) &&
    isSeq(last) &&
    hex64.test(lastChecksum) &&
    !Number.isNaN(prunedAt.getTime()) &&
    (archive === "-" || hex64.test(archive));
  if (!isReceipt || (deployment !== null && signedDeployment !== deployment)) return null;
  const [firstSeq, lastSeq] = [Number(first), Number(last)];
  if (firstSeq > lastSeq) return null;
  return { chainId, firstSeq, lastSeq, lastChecksum, prunedAt, archiveDigest: archive === "-" ? null : archive };
}
