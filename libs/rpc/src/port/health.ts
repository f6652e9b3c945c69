import type { ServiceImpl } from "@connectrpc/connect";
import { AppError, type Readiness } from "@muster/kit";
import { type Health, HealthCheckResponse_ServingStatus as Status } from "@muster/proto/grpc/health/v1/health_pb";

export type HealthService = {
  impl: ServiceImpl<typeof Health>;
  /** Reports NOT_SERVING from now on, whatever readiness is; watchers are notified. */
  drain(): void;
  /** Ends every watch, so that their connections can close. */
  close(): void;
};

/** grpc.health.v1 over readiness: the process ("") and each of `names` share one status. */
export function createHealth(readiness: Readiness, names: ReadonlySet<string>): HealthService {
  let draining = false;
  let closed = false;
  const watchers = new Set<() => void>();
  const wakeAll = () => {
    for (const wake of watchers) wake();
  };
  readiness.onChange(wakeAll);

  const isServed = (name: string) => name === "" || names.has(name);
  const status = () => (readiness.ready && !draining ? Status.SERVING : Status.NOT_SERVING);

  const changed = (signal: AbortSignal, last: Status): Promise<void> =>
    new Promise((resolve) => {
      const wake = () => {
        if (!closed && !signal.aborted && status() === last) return;
        watchers.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      watchers.add(wake);
      signal.addEventListener("abort", wake);
      wake();
    });

  return {
    impl: {
      check({ service }) {
        if (!isServed(service)) throw new AppError("not_found", "Unknown service");
        return { status: status() };
      },
      async *watch({ service }, context) {
        if (!isServed(service)) {
          yield { status: Status.SERVICE_UNKNOWN };
          return;
        }
        for (;;) {
          const last = status();
          yield { status: last };
          await changed(context.signal, last);
          if (closed || context.signal.aborted) return;
        }
      },
    },
    drain() {
      draining = true;
      wakeAll();
    },
    close() {
      closed = true;
      wakeAll();
    },
  };
}
