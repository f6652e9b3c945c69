import type { Failure } from "./call.ts";
import { Failed } from "./queries.ts";

/** Requests under way at a time. */
const atATime = 6;

export type EachResult = { done: string[]; refused: { id: string; failure: Failure }[] };

/**
 * Does the same to each of the records, a few at a time; a refusal concerns its record alone. `onProgress` hears how
 * many are through.
 */
export async function forEach(
  ids: readonly string[],
  work: (id: string) => Promise<unknown>,
  onProgress: (through: number) => void,
): Promise<EachResult> {
  const waiting = [...ids];
  const result: EachResult = { done: [], refused: [] };
  const worker = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      try {
        await work(id);
        result.done.push(id);
      } catch (error) {
        if (!(error instanceof Failed)) throw error;
        result.refused.push({ id, failure: error.failure });
      }
      onProgress(result.done.length + result.refused.length);
    }
  };
  await Promise.all(Array.from({ length: atATime }, worker));
  return result;
}
