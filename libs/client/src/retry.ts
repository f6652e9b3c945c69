export type RetryOptions = {
  /** Most repeats after the first attempt; 0 for none. */
  retries: number;
  /** The longest pause that is waited for, in milliseconds; a longer Retry-After is the caller's to judge. */
  maxPauseMs: number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
};

const retried = [429, 502, 503, 504];

/** How long to wait before a reply's request is sent again, in milliseconds; null when it is not. */
export function pauseOf(reply: Response | null, attempt: number, { retries, maxPauseMs }: RetryOptions): number | null {
  if (attempt >= retries) return null;
  if (reply !== null && !retried.includes(reply.status)) return null;
  // A Retry-After is honoured; without one 0.25, 0.5, 1 s … with jitter, so that clients do not come back together.
  const pauseMs = retryAfterMs(reply) ?? 250 * 2 ** attempt * (0.5 + Math.random());
  return pauseMs > maxPauseMs ? null : pauseMs;
}

/** Seconds or a date (RFC 9110 section 10.2.3); a date counts from the reply's own, so that clocks need not agree. */
function retryAfterMs(reply: Response | null): number | null {
  const text = reply?.headers.get("retry-after") ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  const at = Date.parse(text);
  if (Number.isNaN(at)) return null;
  const now = Date.parse(reply?.headers.get("date") ?? "");
  return Math.max(0, at - (Number.isNaN(now) ? Date.now() : now));
}

/** Resolves after a time, or rejects as soon as the signal aborts. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}
