import { AppError, type Logger, repeatEvery } from "@muster/kit";
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { unavailable } from "../errors.ts";

/** Keys are read again after this long, so that a withdrawn one stops counting. */
const refreshMs = 5 * 60_000;
/** At most one reading per this time, however many tokens name unknown keys or however long identity is away. */
const minIntervalMs = 5_000;

type Loaded = { text: string; getKey: JWTVerifyGetKey };

export type KeySet = {
  /** The cached keys; loads them when there are none. Throws AppError `unavailable` when identity does not answer. */
  current(): Promise<Loaded>;
  /** Keys read after this call, or null when the rate limit forbids a new reading now. */
  refreshed(): Promise<Loaded | null>;
  /** Called after a reading that differs from the one before. */
  onChange(listener: () => void): void;
  close(): Promise<void>;
};

/** Public keys of access tokens from identity (`load`: JWKS text), refreshed every 5 min. */
export function createKeySet(options: { load: () => Promise<string>; log: Logger; nowMs?: () => number }): KeySet {
  const { load, log, nowMs = () => performance.now() } = options;
  let loaded: Loaded | null = null;
  let reading: Promise<Loaded> | null = null;
  const listeners: (() => void)[] = [];
  let readAtMs = Number.NEGATIVE_INFINITY;

  const read = (): Promise<Loaded> => {
    readAtMs = nowMs();
    reading ??= load()
      .then((text) => {
        const changed = loaded !== null && loaded.text !== text;
        loaded = { text, getKey: createLocalJWKSet(JSON.parse(text) as JSONWebKeySet) };
        if (changed) for (const listener of listeners) listener();
        return loaded;
      })
      .finally(() => {
        reading = null;
      });
    return reading;
  };
  const refreshing = repeatEvery(refreshMs, read, (err) =>
    log.warn({ err }, "access token keys not readable, keeping the last reading"),
  );

  return {
    current: async () => loaded ?? (await read()),
    async refreshed() {
      if (reading) return reading;
      return nowMs() - readAtMs < minIntervalMs ? null : read();
    },
    onChange: (listener) => void listeners.push(listener),
    close: () => refreshing.stop(),
  };
}

/** What a caller sees while no key could be loaded. */
export function keysUnavailable(cause: unknown): AppError {
  return cause instanceof AppError && cause.code === "unavailable" ? cause : unavailable(cause);
}
