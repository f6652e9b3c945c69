import type { Bus } from "@muster/bus";
import type { OutboxWakeUp } from "@muster/db";
import { atMostEvery } from "@muster/kit";

const gapMs = 10;
const nothing = new Uint8Array();

/**
 * Wakes up the relay of a service, over core NATS, when messages wait in the outbox: the process that holds the lease
 * may be any. Nothing is stored; a lost wake-up delays messages until the holder's next poll.
 */
export function outboxWakeUp(
  { publish, listen }: Pick<Bus["relay"], "publish" | "listen">,
  service: string,
): OutboxWakeUp {
  const subject = `outbox.${service}`;
  return {
    notify: atMostEvery(gapMs, () => publish(subject, nothing)),
    listen: (onWakeUp) => listen(subject, () => onWakeUp()),
  };
}
