import { afterEach } from "@jest/globals";
import type { TestDispatcher } from "./dispatcher.ts";

/**
 * Starts senders of a dispatcher for one test each: stopped after it; receivers answer as by default, and the queue is
 * empty for the next one.
 */
export function ownSenders(dispatcher: TestDispatcher): TestDispatcher["sender"] {
  const senders: ReturnType<TestDispatcher["sender"]>[] = [];
  afterEach(async () => {
    for (const sender of senders.splice(0)) await sender.stop();
    for (const each of dispatcher.receivers) each.answer((_request, response) => void response.end("ok"));
    await dispatcher.change("DELETE FROM webhook_queue");
  });
  return (change) => {
    const sender = dispatcher.sender(change);
    senders.push(sender);
    return sender;
  };
}
