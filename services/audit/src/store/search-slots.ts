import { AppError, gauge } from "@muster/kit";

const waitingBy = gauge("audit_searches_waiting", "Searches that wait for one of the slots", ["kind"]);

export type SearchSlots = { run<T>(search: () => Promise<T>): Promise<T> };

/**
 * Limits concurrent searches of rows to `most`, so that they never take all connections from the sealer. A search that
 * waits longer than `waitMs` is refused with `overloaded`.
 */
export function searchSlots(most: number, waitMs: number, kind: "list" | "export" | "report" = "list"): SearchSlots {
  const waiting = waitingBy.labels(kind);
  const queue: (() => void)[] = [];
  let busy = 0;
  const enter = () =>
    new Promise<void>((resolve, reject) => {
      const go = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(go), 1);
        waiting.set(queue.length);
        reject(new AppError("overloaded", "Too many searches at a time", { retryAfterSeconds: 1 }));
      }, waitMs);
      queue.push(go);
      waiting.set(queue.length);
    });
  return {
    async run(search) {
      // A finished search passes its slot on, so that the queue keeps its order.
      if (busy >= most) await enter();
      else busy += 1;
      try {
        return await search();
      } finally {
        const next = queue.shift();
        waiting.set(queue.length);
        if (next) next();
        else busy -= 1;
      }
    },
  };
}
