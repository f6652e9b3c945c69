import { AppError, counter, gauge, histogram, type Logger, noteExemplar } from "@muster/kit";

export type Observer = {
  started(): void;
  /** `route` is the row's pattern, never the path: it is a metric label. */
  ended(request: { route: string; status: number; startedMs: number; requestId: string; error?: unknown }): void;
};

/** Slower than this a request is logged at info. */
const slowMs = 1_000;

const requests = counter("muster_gateway_http_requests_total", "Requests by route and status.", ["route", "status"]);
const durations = histogram("muster_gateway_http_request_duration_seconds", "Time to the reply, by route.", ["route"]);
const inFlight = gauge("muster_gateway_http_requests_in_flight", "Requests being served.");

/** Metrics of every request; a log line at debug, at info when slow or an unusual 4xx, at error for 5xx. */
export function createObserver(log: Logger): Observer {
  // Getting a labelled child from prom-client costs more than counting in it.
  const children = new Map<
    string,
    { counts: Map<number, { inc(): void }>; duration: { observe(seconds: number): void } }
  >();
  const childOf = (route: string) => {
    let child = children.get(route);
    if (child === undefined) {
      child = { counts: new Map(), duration: durations.labels(route) };
      children.set(route, child);
    }
    return child;
  };
  const debugging = log.isLevelEnabled("debug");
  return {
    started: () => inFlight.inc(),
    ended({ route, status, startedMs, requestId, error }) {
      inFlight.dec();
      const tookMs = performance.now() - startedMs;
      const child = childOf(route);
      let count = child.counts.get(status);
      if (count === undefined) {
        count = requests.labels(route, String(status));
        child.counts.set(status, count);
      }
      count.inc();
      child.duration.observe(tookMs / 1000);
      noteExemplar("muster_gateway_http_request_duration_seconds", { route }, tookMs / 1000);
      // Counted as shed: a line for each would add to the load.
      const quiet = status < 500 || isOverload(error);
      if (quiet && tookMs < slowMs && !debugging) return;
      const line = { requestId, route, status, tookMs: Math.round(tookMs * 10) / 10 };
      if (!quiet && !isExpected(error)) log.error({ ...line, err: error }, "request failed");
      else if (!quiet) log.warn({ ...line, err: error }, "request not served");
      else if (tookMs >= slowMs) log.info(line, "request was slow");
      else log.debug(line, "request");
    },
  };
}

function isOverload(error: unknown): boolean {
  return error instanceof AppError && error.code === "overloaded";
}

/** An unavailable dependency shows in its own log and alerts; it is not an error of this process. */
function isExpected(error: unknown): boolean {
  return error instanceof AppError && error.code !== "internal";
}
