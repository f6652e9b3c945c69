import { counter, histogram } from "@muster/kit";

export type Side = "server" | "client";

const methodAndCode: ("method" | "code")[] = ["method", "code"];
const byMethod: "method"[] = ["method"];
const metrics = {
  server: {
    requests: counter("muster_rpc_server_requests_total", "RPCs received, by method and error code.", methodAndCode),
    duration: histogram(
      "muster_rpc_server_request_duration_seconds",
      "Time of an RPC as its server sees it.",
      byMethod,
    ),
  },
  client: {
    requests: counter("muster_rpc_client_requests_total", "RPCs sent, by method and error code.", methodAndCode),
    duration: histogram(
      "muster_rpc_client_request_duration_seconds",
      "Time of an RPC as its client sees it.",
      byMethod,
    ),
  },
};

function recorder(side: Side) {
  const { requests, duration } = metrics[side];
  return (rpc: string, code: string, startedMs: number): void => {
    requests.inc({ method: rpc, code });
    duration.observe({ method: rpc }, (performance.now() - startedMs) / 1000);
  };
}

/** Counts one finished RPC ("ok" or its error code) and the time since `startedMs` (performance.now() clock). */
export const recordServer = recorder("server");
export const recordClient = recorder("client");
