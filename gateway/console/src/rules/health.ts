import { endingTone, keyDays } from "./ending.ts";
import type { Tone } from "./tone.ts";

type Shown = { word: string; tone: Tone };
type Watched = { status: string; health: { status: string } | null };

const tones: Readonly<Record<string, Tone>> = {
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

/** How a directory is, in a word: nobody knows yet whether one that has sent nothing is healthy. */
export function directoryHealth(directory: Watched & { lastCycle: unknown }): Shown {
  const shown = shownHealth(directory);
  return shown.tone === "good" && directory.lastCycle === null ? { word: "no request yet", tone: "off" } : shown;
}

/** How an API key is, in a word: an active one that ends soon is to be rotated before its programs stop. */
export function keyHealth({ status, expiresAt }: { status: string; expiresAt: string | null }, now: Date): Shown {
  if (status !== "active") return { word: status, tone: "off" };
  const isSoon = expiresAt !== null && endingTone(expiresAt, now, keyDays) !== null;
  return isSoon ? { word: "ends soon", tone: "warn" } : { word: "active", tone: "good" };
}
