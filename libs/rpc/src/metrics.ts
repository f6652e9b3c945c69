import { counter, histogram } from "@muster/kit";

export type Side = "server" | "client";

function recorder(side: Side) {
  const requests = counter(`muster_rpc_${side}_requests_total`, `RPCs by the ${side}, by method and error code.`, [
    "method",
    "code",
  ]);
  const duration = histogram(`muster_rpc_${side}_duration_seconds`, `Time of an RPC as seen by the ${side}.`, [
    "method",
  ]);
  return (rpc: string, code: string, startedMs: number): void => {
    requests.inc({ method: rpc, code });
    duration.observe({ method: rpc }, (performance.now() - startedMs) / 1000);
  };
}

/** Counts one finished RPC ("ok" or its error code) and the time since `startedMs` (performance.now() clock). */
export const recordServer = recorder("server");
export const recordClient = recorder("client");
