/** A JSON Web Key Set, as it came. */
type KeySet = { keys: { kid?: unknown }[] };
type Entry = { text: string; kids: ReadonlySet<unknown>; fetchedAtMs: number };

export type KeySets = {
  /**
   * The keys behind a URL as JSON; fetched again when they have expired, or when none has this id and the last fetch
   * was over a minute ago.
   */
  get(key: string, kid: string | null, fetch: () => Promise<Response>): Promise<string>;
};

const lifeMs = 10 * 60_000;
const againMs = 60_000;

/**
 * Signing keys of identity providers. A rotation is seen with the first token that names the new key; tokens with
 * invented key ids make no more than a question a minute.
 */
export function keySets({ max, now = Date.now }: { max: number; now?: () => number }): KeySets {
  const entries = new Map<string, Entry>();
  const fetchedAt = new Map<string, number>();
  const under = new Map<string, Promise<string>>();

  const refill = async (key: string, fetch: () => Promise<Response>): Promise<string> => {
    const reply = await fetch();
    if (reply.status !== 200) throw new Error(`the keys answered ${reply.status}`);
    const text = await reply.text();
    const { keys } = JSON.parse(text) as Partial<KeySet>;
    if (!Array.isArray(keys)) throw new Error("the keys are no key set");
    entries.delete(key);
    entries.set(key, { text, kids: new Set(keys.map((each) => each?.kid)), fetchedAtMs: now() });
    for (const oldest of entries.keys()) {
      if (entries.size <= max) break;
      entries.delete(oldest);
      fetchedAt.delete(oldest);
    }
    return text;
  };

  return {
    async get(key, kid, fetch) {
      const entry = entries.get(key);
      const isFresh = entry !== undefined && now() - entry.fetchedAtMs < lifeMs;
      const hasKey = kid === null || entry?.kids.has(kid) === true;
      if (isFresh && hasKey) return entry.text;
      const running = under.get(key);
      // Many tokens of a new key arrive together after a rotation: they share one fetch.
      if (running) return running;
      const fetchedRecently = now() - (fetchedAt.get(key) ?? Number.NEGATIVE_INFINITY) < againMs;
      if (isFresh && fetchedRecently) return entry.text;
      // An unknown key id causes no further fetch for a minute.
      if (isFresh) fetchedAt.set(key, now());
      const refilled = refill(key, fetch).finally(() => under.delete(key));
      under.set(key, refilled);
      return refilled;
    },
  };
}
