import { isChainId, isSeq, linesOf } from "./note-lines.ts";

/** A chain's head at a time: a holder of the signed note can detect changed or removed rows up to `seq`. */
export type Checkpoint = { chainId: string; seq: number; head: string; at: Date };

/** Text of a checkpoint, to be signed as a note. */
export function checkpointText(deployment: string, c: Checkpoint): string {
  return `${deployment}/audit/${c.chainId}\n${c.seq}\n${c.head}\n${c.at.toISOString()}\n`;
}

/**
 * Parses the output of `checkpointText`; null for other text, or for another deployment's. `deployment` null accepts
 * any.
 */
export function parseCheckpoint(text: string, deployment: string | null): Checkpoint | null {
  const [origin = "", seq = "", head = "", time = "", ...rest] = linesOf(text);
  const [, signedDeployment = "", chainId = ""] = /^(.+)\/audit\/([0-9a-f-]{36})$/.exec(origin) ?? [];
  const at = new Date(time);
  const isCheckpoint =
    rest.length === 0 && isChainId(chainId) && isSeq(seq) && /^[0-9a-f]{64}$/.test(head) && !Number.isNaN(at.getTime());
  if (!isCheckpoint || (deployment !== null && signedDeployment !== deployment)) return null;
  return { chainId, seq: Number(seq), head, at };
}
