import { certificateDays, endingTone, keyDays, lastCertificateEnd } from "./ending.ts";
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

type WatchedProvider = Watched & Parameters<typeof lastCertificateEnd>[0];

/**
 * How an identity provider is, in a word: an active one as it answers, or that its last certificate ends soon; another
 * one as it was set.
 */
export function providerHealth(provider: WatchedProvider, now: Date): Shown {
  const { status, health } = provider;
  if (status !== "active") return { word: status, tone: "off" };
  const shown: Shown = health ? shownHealth({ status, health }) : { word: "active", tone: "good" };
  return shown.tone === "good" && endsSoon(provider, now) ? { word: "certificate ends", tone: "warn" } : shown;
}

/** Whether nobody signs in through an active provider any more, soon, unless it gets another certificate. */
export function endsSoon(provider: WatchedProvider, now: Date): boolean {
  const end = lastCertificateEnd(provider);
  return provider.status === "active" && end !== null && endingTone(end, now, certificateDays) !== null;
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
