import { AppError, backoffMs } from "@muster/kit";

const attemptsBeforeBurial = 5;
const maxPauseMs = 5_000;

type Failed = { id: number; subject: string };

/**
 * Distinguishes a message that no stream accepts from a stream that is unavailable. A failure counts against the
 * message itself when it was refused, or when others of its root (the subject's first word, one stream each) were
 * published in the same round; otherwise the whole root pauses, and the other roots continue.
 */
export function createPublishFailures(pollMs: number, now: () => number = () => performance.now()) {
  const suspects = new Map<number, { attempts: number; againAtMs: number }>();
  const paused = new Map<string, { times: number; untilMs: number }>();

  return {
    pausedRoots: () => [...paused].filter(([, { untilMs }]) => untilMs > now()).map(([root]) => root),

    mayTry: (id: number) => (suspects.get(id)?.againAtMs ?? 0) <= now(),

    /** Notes a round: returns the rows to bury, with their attempts, and the roots that begin to pause. */
    settle<F extends Failed>(
      acked: readonly Failed[],
      failed: readonly { row: F; error: unknown }[],
    ): { bury: { row: F; error: unknown; attempts: number }[]; pausing: { root: string; error: unknown }[] } {
      const through = new Set(acked.map((row) => rootOf(row.subject)));
      for (const { id } of acked) suspects.delete(id);
      for (const root of through) paused.delete(root);
      const bury: { row: F; error: unknown; attempts: number }[] = [];
      const away = new Map<string, unknown>();
      for (const { row, error } of failed) {
        const root = rootOf(row.subject);
        if (!isRefusal(error) && !through.has(root)) {
          away.set(root, error);
          continue;
        }
        const attempts = (suspects.get(row.id)?.attempts ?? 0) + 1;
        suspects.set(row.id, { attempts, againAtMs: now() + backoffMs(attempts - 1, pollMs, maxPauseMs) });
        if (attempts >= attemptsBeforeBurial) bury.push({ row, error, attempts });
      }
      const pausing: { root: string; error: unknown }[] = [];
      for (const [root, error] of away) {
        const times = paused.get(root)?.times ?? 0;
        paused.set(root, { times: times + 1, untilMs: now() + backoffMs(times, pollMs, maxPauseMs) });
        if (times === 0) pausing.push({ root, error });
      }
      return { bury, pausing };
    },

    buried: (id: number) => void suspects.delete(id),

    /** Tries every root again: the connection is new. */
    resume: () => paused.clear(),
  };
}

function rootOf(subject: string): string {
  return subject.split(".", 1)[0] ?? subject;
}

/** The bus's word that a repeat never helps: not permitted, or too large. */
function isRefusal(error: unknown): boolean {
  return error instanceof AppError && (error.code === "permission_denied" || error.code === "validation_failed");
}
