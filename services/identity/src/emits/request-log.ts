import type { Database } from "@muster/db";
import { AppError, counter, type Logger, uuidv7 } from "@muster/kit";
import { type LoggedRequest, storeRequests } from "../store/directory/requests.ts";

const everyMs = 500;
const batchMax = 500;
const waitingMax = 5_000;
const detailMax = 300;
const dropped = counter(
  "muster_identity_directory_requests_dropped_total",
  "Requests of directories that were not logged.",
);

export type Outcome = Pick<LoggedRequest, "outcome" | "scimType" | "detail">;

export type RequestLog = {
  /** Notes a request; it is stored within a second, and the reply does not wait for it. */
  note(request: Omit<LoggedRequest, "id" | "at" | keyof Outcome>, outcome: Outcome): void;
  /** Stores what waits. */
  stop(): Promise<void>;
};

/** The log of directories' requests (docs/directory.md#log), written in batches. */
export function requestLog({ db, now, log }: { db: Database; now: () => Date; log: Logger }): RequestLog {
  let waiting: LoggedRequest[] = [];
  let timer: NodeJS.Timeout | undefined;

  const flush = async (): Promise<void> => {
    timer = undefined;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchMax);
      await storeRequests(db, batch).catch((err: unknown) => {
        dropped.inc(batch.length);
        log.warn({ err, requests: batch.length }, "requests of directories not logged");
      });
    }
  };

  return {
    note(request, { detail, ...outcome }) {
      if (waiting.length >= waitingMax) {
        dropped.inc();
        return;
      }
      const at = now();
      const shown = detail === null ? null : withoutValues(detail).slice(0, detailMax);
      waiting.push({ ...request, ...outcome, detail: shown, id: uuidv7(at.getTime()), at });
      timer ??= setTimeout(() => void flush(), everyMs).unref();
    },
    async stop() {
      clearTimeout(timer);
      await flush();
      waiting = [];
    },
  };
}

export const served: Outcome = { outcome: "ok", scimType: null, detail: null };

export function refusedBy(failure: unknown): Outcome {
  if (!(failure instanceof AppError)) return { outcome: "internal", scimType: null, detail: null };
  const { scimType } = failure.facts;
  return {
    outcome: failure.code,
    scimType: typeof scimType === "string" ? scimType : null,
    detail: failure.message,
  };
}

/** A text without what it compares with, and without addresses. */
export const withoutValues = (text: string): string =>
  text
    .replace(/\b(eq|ne|co|sw|ew|gt|ge|lt|le)(\s+)(?:"(?:[^"\\]|\\.)*"?|[^\s()\]"]+)/gi, '$1$2"…"')
    .replace(/[^\s"]+/g, (word) => (word.includes("@") ? "…" : word));
