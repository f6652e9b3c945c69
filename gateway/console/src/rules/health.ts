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

type Key = { status: string; expiresAt: string | null; lastUsedAt: string | null; createdAt: string };

/** Milliseconds without a request after which nobody seems to need a key. */
const unusedMs = 60 * 86_400_000;

/** Whether an active key ends soon: it is to be rotated before its programs stop. */
export const keyEndsSoon = ({ status, expiresAt }: Pick<Key, "status" | "expiresAt">, now: Date): boolean =>
  status === "active" && expiresAt !== null && endingTone(expiresAt, now, keyDays) !== null;

/** Whether an active key has not been used for long, or never since then: it is to be revoked. */
export const isKeyUnused = ({ status, lastUsedAt, createdAt }: Omit<Key, "expiresAt">, now: Date): boolean =>
  status === "active" && now.getTime() - Date.parse(lastUsedAt ?? createdAt) >= unusedMs;

/** How an API key is, in a word. */
export function keyHealth(key: Key, now: Date): Shown {
  if (keyEndsSoon(key, now)) return { word: "ends soon", tone: "warn" };
  if (isKeyUnused(key, now)) return { word: "unused", tone: "warn" };
  return { word: key.status, tone: key.status === "active" ? "good" : "off" };
}
