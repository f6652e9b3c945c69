import { createHash } from "node:crypto";

/** Hash of a leaf (RFC 6962, 2.1). */
export function leafHash(data: string): Buffer {
  return createHash("sha256").update("\u0000").update(data).digest();
}

/** Root of the Merkle tree over leaf hashes (RFC 6962, 2.1). Throws on none: an empty tree anchors nothing. */
export function merkleRoot(leaves: readonly Buffer[]): Buffer {
  const [only] = leaves;
  if (!only) throw new Error("a tree has leaves");
  if (leaves.length === 1) return only;
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  const [left, right] = [merkleRoot(leaves.slice(0, split)), merkleRoot(leaves.slice(split))];
  return createHash("sha256").update("\u0001").update(left).update(right).digest();
}

/**
 * Text of a deployment anchor, to be signed as a note: `root` over the newest checkpoint notes up to id `upTo`, by
 * chain id.
 */
export function anchorText(deployment: string, a: { upTo: number; chains: number; root: string; at: Date }): string {
  return `${deployment}/audit/anchor\n${a.chains}\n${a.root}\n${a.upTo}\n${a.at.toISOString()}\n`;
}
