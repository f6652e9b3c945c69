import { activeTracer, endSpan, startServerSpan } from "@muster/kit";

export type RequestSpan = ReturnType<typeof startServerSpan>;

const longestPath = 500;

/**
 * The first span of a trace: a client's sampling decision does not count. `target` is the request's, whose query is
 * left out: it may hold a secret. Undefined without telemetry.
 */
export function startRequestSpan(method: string, target: string, publicUrl: URL): RequestSpan | undefined {
  const tracer = activeTracer();
  if (!tracer) return undefined;
  const attributes = {
    "http.request.method": method,
    "url.scheme": publicUrl.protocol.slice(0, -1),
    "url.path": (target.split("?", 1)[0] ?? "").slice(0, longestPath),
    "server.address": publicUrl.hostname,
  };
  return startServerSpan(tracer, method, attributes, null);
}

/** Ends it under the route's pattern, never the path: names of spans are few. A 5xx is an error, and those are kept. */
export function endRequestSpan(
  span: RequestSpan,
  request: { method: string; route: string; status: number; requestId: string | null },
): void {
  const { method, status, requestId } = request;
  if (span.isRecording()) {
    // A row's route begins with its method, which an attribute of its own has.
    const route = request.route.startsWith(`${method} `) ? request.route.slice(method.length + 1) : request.route;
    span.updateName(`${method} ${route}`);
    span.setAttribute("http.route", route);
    span.setAttribute("http.response.status_code", status);
    if (requestId !== null) span.setAttribute("muster.request_id", requestId);
  }
  endSpan(span, status >= 500 ? String(status) : "ok");
}
