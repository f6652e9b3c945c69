type Waiting<V> = { resolve(value: V | null): void; reject(error: unknown): void };

/**
 * A loader that asks for all keys of a moment together, at most `most` at a time. A key that the answer lacks is null;
 * a failed question fails for each key that was in it.
 */
export function batched<V>(
  most: number,
  ask: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>,
  later: (run: () => void) => void = (run) => setTimeout(run),
): (key: string) => Promise<V | null> {
  let waiting = new Map<string, Waiting<V>[]>();
  const run = () => {
    const all = [...waiting];
    waiting = new Map();
    for (let at = 0; at < all.length; at += most) {
      const part = all.slice(at, at + most);
      ask(part.map(([key]) => key)).then(
        (found) => {
          for (const [key, each] of part) for (const { resolve } of each) resolve(found.get(key) ?? null);
        },
        (error: unknown) => {
          for (const [, each] of part) for (const { reject } of each) reject(error);
        },
      );
    }
  };
  return (key) =>
    new Promise((resolve, reject) => {
      if (waiting.size === 0) later(run);
      waiting.set(key, [...(waiting.get(key) ?? []), { resolve, reject }]);
    });
}
