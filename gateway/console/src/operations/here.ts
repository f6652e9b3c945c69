import { useEffect, useSyncExternalStore } from "react";
import { type AnyOperation, type Operation, offeredFor, onRecord } from "./record-operation.ts";

/** What the page on screen offers, each of its records under a key of its own. */
const offers = new Map<symbol, readonly AnyOperation[]>();
const listeners = new Set<() => void>();
let all: readonly AnyOperation[] = [];

function change(apply: () => void): void {
  apply();
  all = [...offers.values()].flat();
  for (const listener of listeners) listener();
}

/** Offers the operations of a record on screen to the command menu, for as long as it is shown. */
export function useHere<R>(operations: readonly Operation<R>[], record: R, name: string): void {
  useEffect(() => {
    const key = Symbol(name);
    change(() => offers.set(key, onRecord(offeredFor(operations, record), record, { name })));
    return () => change(() => offers.delete(key));
  }, [operations, record, name]);
}

/** The operations of the records on screen. */
export const useOffersHere = (): readonly AnyOperation[] =>
  useSyncExternalStore(
    (changed) => {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    () => all,
  );
