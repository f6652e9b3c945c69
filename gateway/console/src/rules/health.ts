type Shown = { word: string; tone: "good" | "warn" | "bad" | "off" };
type Watched = { status: string; health: { status: string } | null };

const tones: Readonly<Record<string, Shown["tone"]>> = {
  healthy: "good",
  slow: "warn",
  failing: "bad",
  unreachable: "bad",
};

/**
 * How a webhook or a stream is, in a word: being turned on is not the same as being healthy. A failed one was turned
 * off because its receiver kept failing.
 */
export function shownHealth({ status, health }: Watched): Shown {
  if (status === "failed") return { word: "failing", tone: "bad" };
  if (status === "paused") return { word: "paused", tone: "warn" };
  // Without health in the stored reply to a request that an older version answered.
  const word = health?.status ?? "healthy";
  return { word, tone: tones[word] ?? "off" };
}

/** How an identity provider is, in a word: an active one as it answers, another one as it was set. */
export function providerHealth({ status, health }: Watched): Shown {
  if (status === "active" && health) return shownHealth({ status, health });
  if (status === "active") return { word: "active", tone: "good" };
  return { word: status, tone: status === "testing" ? "warn" : "off" };
}
