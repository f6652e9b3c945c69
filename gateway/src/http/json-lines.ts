import { AppError } from "@muster/kit";
import { Streamed } from "../route/reply.ts";
import type { RouteRequest } from "../route/route.ts";
import { publicError } from "./public-error.ts";

export const linesType = "application/x-ndjson; charset=utf-8";
/** Longest time a stream lasts, in seconds: less than its access token, its deadline, and most proxies' timeout. */
export const longestSeconds = 280;
/** Interval at which an idle source of lines yields null, after which a line `alive` may be due. */
export const tickMs = 2_000;
const aliveMs = 15_000;

/** A line of JSON, or null for none now. */
type Line = { kind: string } | null;

type Caller = Pick<RouteRequest, "isStillAdmitted" | "whileAdmitted">;

/**
 * JSON lines, until the requested time is up or the caller loses access: the caller is checked again before each line,
 * and a revocation ends the stream within a second, whatever the source does. A line `alive` follows 15 s of silence; a
 * source that fails ends with a line `error`.
 */
export function streamedLines(caller: Caller, seconds: number, source: AsyncIterable<Line>): Streamed {
  const body = {
    [Symbol.asyncIterator]() {
      const lines = source[Symbol.asyncIterator]();
      const bytes = linesOf(caller, seconds, lines);
      return {
        next: () => bytes.next(),
        // A generator that was never started would not stop its source.
        async return() {
          await lines.return?.();
          return bytes.return(undefined);
        },
      };
    },
  };
  // Proxies forward each line immediately.
  return new Streamed(linesType, ["X-Accel-Buffering", "no"], body);
}

const bytesOf = (line: object) => Buffer.from(`${JSON.stringify(line)}\n`);

async function* linesOf(
  caller: Caller,
  seconds: number,
  lines: AsyncIterator<Line>,
): AsyncGenerator<Uint8Array, undefined> {
  const endMs = performance.now() + seconds * 1_000;
  let saidMs = performance.now();
  const admission = admissionOf(caller);
  try {
    while (performance.now() < endMs) {
      const next = await admission.unlessEnded(lines.next());
      if (next === null || next.done || !(await admission.unlessEnded(caller.isStillAdmitted()))) return;
      const nowMs = performance.now();
      if (next.value === null && nowMs - saidMs < aliveMs) continue;
      saidMs = nowMs;
      yield bytesOf(next.value ?? { kind: "alive" });
    }
  } catch (thrown) {
    const error = publicError(thrown);
    if (!(error instanceof AppError) || error.code === "internal") throw thrown;
    const isAdmitted = await admission.unlessEnded(caller.isStillAdmitted());
    if (isAdmitted) yield bytesOf({ kind: "error", code: error.code, error: error.message });
  } finally {
    admission.stop();
  }
}

/** Waits that end with the caller's admission. */
function admissionOf(caller: Pick<Caller, "whileAdmitted">) {
  let isEnded = false;
  // One callback for the present wait: a promise that each wait joins would keep a reaction per line.
  let endWait: () => void = () => undefined;
  const watch = caller.whileAdmitted(() => {
    isEnded = true;
    endWait();
  });
  return {
    stop: watch.stop,
    /** What `waiting` resolves with; null when the caller is no longer admitted. */
    unlessEnded: <T>(waiting: Promise<T>): Promise<T | null> =>
      new Promise((resolve, reject) => {
        waiting.then(resolve, reject);
        endWait = () => resolve(null);
        if (isEnded) endWait();
      }),
  };
}
