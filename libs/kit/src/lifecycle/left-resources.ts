/** Kinds that belong to the process: its output, and its channel to a supervisor. */
const own = new Set(["PipeWrap", "TTYWrap", "FSReqCallback", "CloseReq"]);

/**
 * What would keep this process alive (`Timeout`, `TCPSocketWrap`, `TCPServerWrap` …), with how many of each; undefined
 * when nothing would. Its own pipes and unreferenced timers do not count.
 */
export function leftResources(): Record<string, number> | undefined {
  const left: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) {
    if (!own.has(kind)) left[kind] = (left[kind] ?? 0) + 1;
  }
  return Object.keys(left).length > 0 ? left : undefined;
}
