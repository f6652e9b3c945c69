import type { Health } from "@muster/kit";
import type { StreamStatus } from "./stream.ts";

/** What is known of a stream's requests. */
export type StreamFacts = {
  status: StreamStatus;
  /** Failed attempts since the last success. */
  failures: number;
  failing_since: Date | null;
  last_error: string | null;
  lag_seconds: number;
};

/** Failed attempts in a row from which a stream is unreachable: they take some minutes. */
const unreachableFailures = 8;
/** Age of the oldest row that was not accepted, from which a stream is slow, in seconds. */
const slowSeconds = 300;

/** The health of a stream, by the first rule that holds (docs/behaviour.md#attention). */
export function streamHealth({
  status,
  failures,
  failing_since: since,
  last_error: error,
  lag_seconds: lag,
}: StreamFacts): Health {
  const last = error ? ` The last error: ${error}` : "";
  if (status === "failed") return { status: "unreachable", reason: `Marked failed: nothing is sent.${last}` };
  if (status === "paused") return { status: "healthy", reason: "Paused by its users." };
  if (failures > 0) {
    const many = `${failures} ${failures === 1 ? "attempt" : "attempts in a row"} failed`;
    const reason = `${many}${since ? ` since ${since.toISOString()}` : ""}.${last}`;
    return { status: failures >= unreachableFailures ? "unreachable" : "failing", reason };
  }
  if (lag >= slowSeconds) {
    return { status: "slow", reason: `Its oldest row was not accepted for ${Math.floor(lag)} s.` };
  }
  return { status: "healthy", reason: "No recent attempt failed." };
}
