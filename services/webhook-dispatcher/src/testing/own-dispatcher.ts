import { afterAll, beforeAll } from "@jest/globals";
import { startDispatcher, type TestDispatcher } from "./dispatcher.ts";
import type { Receiver } from "./receiver.ts";

/**
 * A dispatcher for the tests of a file, and the first of its receivers: filled before the tests, stopped after them.
 */
export function ownDispatcher(): { dispatcher: TestDispatcher; receiver: Receiver } {
  const dispatcher = {} as TestDispatcher;
  const receiver = {} as Receiver;
  beforeAll(async () => {
    Object.assign(dispatcher, await startDispatcher());
    Object.assign(receiver, dispatcher.receivers[0]);
  });
  afterAll(async () => {
    await dispatcher.stop?.();
  });
  return { dispatcher, receiver };
}
