import type { CallOptions } from "@connectrpc/connect";
import { type ServiceName, serviceNames } from "@muster/kit";
import type { Services } from "./services.ts";

type ServiceHealth = { status: "ok" | "starting" | "unavailable"; version: string | null };
export type Health = {
  status: "ok" | "degraded";
  version: string;
  services: Record<ServiceName, ServiceHealth>;
};
export type HealthProbe = () => Promise<Health>;

const freshMs = 1_000;
export const probeTimeoutMs = 1_000;

/**
 * Queries the version and state of each service, at most once a second for all callers. `call` makes the options of a
 * call with that deadline in milliseconds.
 */
export function createHealthProbe(options: {
  probes: Services["probes"];
  version: string;
  call(timeoutMs: number): Promise<CallOptions>;
  nowMs?: () => number;
}): HealthProbe {
  const { probes, version, call, nowMs = () => performance.now() } = options;
  let requestedAtMs = Number.NEGATIVE_INFINITY;
  let latest: Promise<Health> | null = null;

  const probe = async (): Promise<Health> => {
    const entries = await Promise.all(
      serviceNames.map(async (name): Promise<[ServiceName, ServiceHealth]> => {
        try {
          const info = await probes[name].getInfo({}, await call(probeTimeoutMs));
          return [name, { status: info.ready ? "ok" : "starting", version: info.version }];
        } catch {
          // The reason for a service's unavailability is in its log and in this process's readyz, not in a public
          // reply.
          return [name, { status: "unavailable", version: null }];
        }
      }),
    );
    const allOk = entries.every(([, { status }]) => status === "ok");
    const services = Object.fromEntries(entries) as Health["services"];
    return { status: allOk ? "ok" : "degraded", version, services };
  };

  return () => {
    const now = nowMs();
    if (latest === null || now - requestedAtMs >= freshMs) {
      requestedAtMs = now;
      latest = probe();
    }
    return latest;
  };
}
