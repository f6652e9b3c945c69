let pending: (() => void)[] = [];

/**
 * Runs an action at the end of this iteration of the event loop, one after another with the iteration's other actions
 * and in their order. For replies: a client that waits on the same machine is woken once for all that it gets
 * (docs/decisions/0198-replies-of-one-iteration-go-out-together.md). An action that throws ends the process, as it
 * would by itself; the others have run.
 */
export function afterPoll(action: () => void): void {
  if (pending.length === 0) setImmediate(runPending);
  pending.push(action);
}

function runPending(): void {
  const running = pending;
  pending = [];
  for (const action of running) {
    try {
      action();
    } catch (error) {
      process.nextTick(() => {
        throw error;
      });
    }
  }
}
