export type Serialized = <T>(id: string, work: () => Promise<T>) => Promise<T>;

/**
 * Runs work on the same id one after the other within this process. The row lock alone would be correct, but each
 * waiter holds a connection: a few calls on one record would exhaust the pool.
 */
export function serializedById(): Serialized {
  const tails = new Map<string, Promise<unknown>>();
  return (id, work) => {
    const result = (tails.get(id) ?? Promise.resolve()).then(work);
    const tail = result.then(
      () => undefined,
      () => undefined,
    );
    tails.set(id, tail);
    void tail.then(() => {
      if (tails.get(id) === tail) tails.delete(id);
    });
    return result;
  };
}
