type Shown = { word: string; tone: "good" | "warn" | "bad" | "off" };
type Webhook = { status: string; health: { status: string } };

const tones: Readonly<Record<string, Shown["tone"]>> = {
  healthy: "good",
  slow: "warn",
  failing: "bad",
  unreachable: "bad",
};

/**
 * How a webhook is, in a word: being turned on is not the same as being healthy. A failed one was turned off because
 * its receiver kept failing.
 */
export function webhookHealth({ status, health }: Webhook): Shown {
  if (status === "failed") return { word: "failing", tone: "bad" };
  if (status === "paused") return { word: "paused", tone: "warn" };
  return { word: health.status, tone: tones[health.status] ?? "off" };
}

type Stream = { status: string; consecutiveFailures: number };

/** How a stream is, in a word: an active one whose receiver refuses its rows fails. */
export function streamHealth({ status, consecutiveFailures }: Stream): Shown {
  if (status === "failed" || (status === "active" && consecutiveFailures > 0)) return { word: "failing", tone: "bad" };
  return status === "paused" ? { word: "paused", tone: "warn" } : { word: "healthy", tone: "good" };
}
