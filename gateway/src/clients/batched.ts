type Waiting<Q, A> = { question: Q; resolve(answer: A): void; reject(error: unknown): void };

/**
 * Batches requests: those of one tick of the event loop go in one call, at most `max` per call. Requests that arrive
 * while `callsMax` calls are in flight wait for the next one. `callWith` returns the answers in order; when it throws,
 * every request of the call fails with that error.
 */
export function batched<Q, A>(
  callWith: (questions: readonly Q[]) => Promise<readonly (A | Error)[]>,
  { max, callsMax }: { max: number; callsMax: number },
): (question: Q) => Promise<A> {
  const waiting: Waiting<Q, A>[] = [];
  let calls = 0;
  let scheduled = false;

  const call = async () => {
    const batch = waiting.splice(0, max);
    calls++;
    try {
      const answers = await callWith(batch.map(({ question }) => question));
      if (answers.length !== batch.length) throw new Error("another number of answers than requests");
      batch.forEach(({ resolve, reject }, at) => {
        const answer = answers[at] as A | Error;
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      calls--;
      send();
    }
  };
  const send = () => {
    while (waiting.length > 0 && calls < callsMax) void call();
  };

  return (question) =>
    new Promise((resolve, reject) => {
      waiting.push({ question, resolve, reject });
      if (scheduled) return;
      scheduled = true;
      setImmediate(() => {
        scheduled = false;
        send();
      });
    });
}
