import { activeTracer, endSpan, startServerSpan } from "@muster/kit";

export type RequestSpan = ReturnType<typeof startServerSpan>;

/** The first span of a trace: a client's sampling decision does not count. Undefined without telemetry. */
export function startRequestSpan(method: string): RequestSpan | undefined {
  const tracer = activeTracer();
  return tracer && startServerSpan(tracer, method, { "http.request.method": method }, null);
}

/** Ends it under the route's pattern, never the path: names of spans are few. A 5xx is an error, and those are kept. */
export function endRequestSpan(
  span: RequestSpan,
  request: { method: string; route: string; status: number; requestId: string | null },
): void {
  const { method, route, status, requestId } = request;
  if (span.isRecording()) {
    span.updateName(route.startsWith(method) ? route : `${method} ${route}`);
    span.setAttribute("http.route", route);
    span.setAttribute("http.response.status_code", status);
    if (requestId !== null) span.setAttribute("muster.request_id", requestId);
  }
  endSpan(span, status >= 500 ? String(status) : "ok");
}
