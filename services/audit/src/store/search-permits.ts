import { connectionOwner, type Who } from "@muster/db";
import { AppError, fairSlots, gauge } from "@muster/kit";

const waitingBy = gauge("muster_audit_searches_queued", "Searches that wait for a permit", ["kind"]);

export type SearchPermits = { run<T>(who: Who, search: () => Promise<T>): Promise<T> };

/**
 * Limits concurrent searches of rows to `most`, so that they never take all connections from the sealer. An
 * organization, partner or platform user gets a fair share of them (docs/concepts.md#fair-share), and waiting ones are
 * served round-robin. A search that waits longer than `waitMs` is refused with `overloaded`.
 */
export function searchPermits(
  most: number,
  waitMs: number,
  kind: "list" | "export" | "report" = "list",
): SearchPermits {
  const waiting = waitingBy.labels(kind);
  const slots = fairSlots(most);
  const enter = (wanted: { owner: string | null }) =>
    new Promise<void>((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        waiting.set(slots.waiting);
        resolve();
      };
      const timer = setTimeout(() => {
        if (!slots.withdraw(wanted, begin)) return;
        waiting.set(slots.waiting);
        reject(new AppError("overloaded", "Too many concurrent searches", { retryAfterSeconds: 1 }));
      }, waitMs);
      if (slots.take(wanted, begin)) begin();
      else waiting.set(slots.waiting);
    });
  return {
    async run(who, search) {
      const wanted = { owner: connectionOwner(who) };
      await enter(wanted);
      try {
        return await search();
      } finally {
        slots.leave(wanted);
      }
    },
  };
}
