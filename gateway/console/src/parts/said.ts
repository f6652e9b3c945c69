import { useSyncExternalStore } from "react";

/** What was just done, or why it was not. */
type Said = { text: string; type: "success" | "failure" };

let waiting: readonly Said[] = [];
let isUsed = false;
const listeners = new Set<() => void>();

/** Says in a corner of the page that something was done; a failure stays until it is closed. */
export function toast(text: string, type: Said["type"] = "success"): void {
  waiting = [...waiting, { text, type }];
  isUsed = true;
  for (const listener of listeners) listener();
}

/** Takes what is to be said. */
export function takeWaiting(): readonly Said[] {
  const taken = waiting;
  waiting = [];
  return taken;
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** What is to be said. */
export const useWaiting = () => useSyncExternalStore(subscribe, () => waiting);

/** Whether anything was said since the page was opened. */
export const useIsUsed = () => useSyncExternalStore(subscribe, () => isUsed);
