import type { Failure } from "./call.ts";
import { Failed } from "./queries.ts";

/** Concurrent requests. */
const concurrency = 6;
/** Records of one call, where the API takes several. */
const batchSize = 100;

export type EachResult = { done: string[]; refused: { id: string; failure: Failure }[] };

/**
 * Applies a change to each of the records, a few concurrently; a refusal concerns its record only. `onProgress` is
 * called with how many are through.
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
  await Promise.all(Array.from({ length: concurrency }, worker));
  return result;
}

/** A refusal within a call that was answered. */
const ofOne = { status: 200, requestId: "", retryAfterSeconds: null };

type RecordResult = { id: string; code: string | null; error: string | null };

/**
 * Changes all of the records by calls that take several and report a result for each. When a whole call fails, each of
 * its records counts as refused.
 */
export async function forAll(
  ids: readonly string[],
  call: (ids: string[]) => Promise<{ results: readonly RecordResult[] }>,
  onProgress: (through: number) => void,
): Promise<EachResult> {
  const result: EachResult = { done: [], refused: [] };
  for (let at = 0; at < ids.length; at += batchSize) {
    const part = ids.slice(at, at + batchSize);
    try {
      for (const { id, code, error } of (await call(part)).results) {
        if (code === null) result.done.push(id);
        else result.refused.push({ id, failure: { ...ofOne, code, error: error ?? code } });
      }
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      for (const id of part) result.refused.push({ id, failure: error.failure });
    }
    onProgress(result.done.length + result.refused.length);
  }
  return result;
}
