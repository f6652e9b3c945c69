import { connectionOwner, type Who } from "@muster/db";
import { AppError, fairSlots, gauge } from "@muster/kit";

const waitingBy = gauge("muster_audit_searches_queued", "Searches that wait for one of the slots", ["kind"]);

export type SearchSlots = { run<T>(who: Who, search: () => Promise<T>): Promise<T> };

/**
 * Limits concurrent searches of rows to `most`, so that they never take all connections from the sealer. An
 * organization, partner or platform user takes at most half of what others leave, and those that wait take turns. A
 * search that waits longer than `waitMs` is refused with `overloaded`.
 */
export function searchSlots(most: number, waitMs: number, kind: "list" | "export" | "report" = "list"): SearchSlots {
  const waiting = waitingBy.labels(kind);
  const places = fairSlots(most);
  const enter = (wanted: { owner: string | null }) =>
    new Promise<void>((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        waiting.set(places.waiting);
        resolve();
      };
      const timer = setTimeout(() => {
        if (!places.withdraw(wanted, begin)) return;
        waiting.set(places.waiting);
        reject(new AppError("overloaded", "Too many searches at a time", { retryAfterSeconds: 1 }));
      }, waitMs);
      if (places.take(wanted, begin)) begin();
      else waiting.set(places.waiting);
    });
  return {
    async run(who, search) {
      const wanted = { owner: connectionOwner(who) };
      await enter(wanted);
      try {
        return await search();
      } finally {
        places.leave(wanted);
      }
    },
  };
}
