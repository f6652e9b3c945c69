/** Requests a second factor of the user, by one dialog for all pages. */

type Wanted = { resolve(done: boolean): void };

let wanted: Wanted | null = null;
let waiting: Promise<boolean> | null = null;
const listeners = new Set<() => void>();
const changed = () => {
  for (const listener of listeners) listener();
};

/** Resolves with true once a second factor was completed, and with false when the user cancels. */
export function stepUp(): Promise<boolean> {
  waiting ??= new Promise<boolean>((resolve) => {
    wanted = { resolve };
    changed();
  }).finally(() => {
    waiting = null;
  });
  return waiting;
}

export function endStepUp(done: boolean): void {
  wanted?.resolve(done);
  wanted = null;
  changed();
}

export const isStepUpWanted = () => wanted !== null;

export function onStepUp(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
