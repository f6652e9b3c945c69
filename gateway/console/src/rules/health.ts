type Shown = { word: string; tone: "good" | "warn" | "bad" | "off" };

/**
 * How a webhook is, in a word: being turned on is not the same as being healthy. A failed one was turned off because
 * its receiver kept failing.
 */
export function webhookHealth({ status }: { status: string }): Shown {
  if (status === "failed") return { word: "failing", tone: "bad" };
  if (status === "active") return { word: "active", tone: "good" };
  return { word: status, tone: status === "paused" ? "warn" : "off" };
}
