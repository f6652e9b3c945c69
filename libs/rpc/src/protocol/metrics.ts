import { counter, histogram, noteExemplar } from "@muster/kit";
import type { Span } from "@opentelemetry/api";

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
  const name = `muster_rpc_${side}_request_duration_seconds`;
  return (rpc: string, code: string, startedMs: number, span?: Span): void => {
    requests.inc({ method: rpc, code });
    const seconds = (performance.now() - startedMs) / 1000;
    duration.observe({ method: rpc }, seconds);
    if (span) noteExemplar(name, { method: rpc }, seconds, span);
  };
}

/**
 * Counts one finished RPC ("ok" or its error code) and the time since `startedMs` (performance.now() clock); its span
 * is the time's exemplar.
 */
export const recordServer = recorder("server");
export const recordClient = recorder("client");
