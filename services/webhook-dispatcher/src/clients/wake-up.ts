import type { Bus } from "@muster/bus";
import { atMostEvery } from "@muster/kit";

const subject = "webhooks.wake";
/** Deliveries queued within this interval share one notification; the first is sent immediately. */
const gapMs = 10;
const nothing = new Uint8Array();

/**
 * Notifies the senders of all processes of queued deliveries, over core NATS: nothing is stored, and a lost
 * notification delays them by at most one second, or five while the sender is idle.
 */
export function createWakeUp(wakeHere: () => void) {
  let relay: Bus["relay"] | null = null;
  const notifyOthers = atMostEvery(gapMs, () => relay?.publish(subject, nothing));
  return {
    notify(): void {
      wakeHere();
      notifyOthers();
    },
    /** Notifies other processes and receives their notifications from now on, until stopped. */
    connect(bus: Pick<Bus, "relay">): { stop(): void } {
      relay = bus.relay;
      const listening = relay.listen(subject, () => wakeHere());
      return {
        stop() {
          relay = null;
          listening.stop();
        },
      };
    },
  };
}
