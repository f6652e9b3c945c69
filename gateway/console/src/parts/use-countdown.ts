import { useEffect, useState } from "react";
import type { Failure } from "../api/call.ts";

/** Seconds for which a refused form waits, counted down; 0 when it may be sent. */
export function useCountdown(failure: Failure | null): number {
  const [left, setLeft] = useState(0);
  useEffect(() => {
    const seconds = failure?.code === "rate_limited" ? Math.ceil(failure.retryAfterSeconds ?? 0) : 0;
    setLeft(seconds);
    if (seconds === 0) return;
    const endsAt = performance.now() + seconds * 1_000;
    const timer = setInterval(() => {
      const rest = Math.max(0, Math.ceil((endsAt - performance.now()) / 1_000));
      setLeft(rest);
      if (rest === 0) clearInterval(timer);
    }, 1_000);
    return () => clearInterval(timer);
  }, [failure]);
  return left;
}
