import type { Relay } from "@muster/bus";
import { gauge, type Logger } from "@muster/kit";
import { DeviceChangedSchema } from "@muster/proto/muster/events/v1/tenancy_pb";
import { decode } from "@muster/rpc";

export type DeviceChange = {
  change: "created" | "updated" | "decommissioned";
  id: string;
  partnerId: string;
  orgId: string;
  siteId: string | null;
  status: string;
};

/** `current`: changes are reported from here on; earlier ones may have been missed. */
export type ChangeMessage = DeviceChange | "current";

export type ChangeFeed = {
  /** Calls back with each change of a device, `current` before the first, until stopped. */
  listen(listener: (message: ChangeMessage) => void): { stop(): void };
  /** Connects the feed to the bus. */
  attach(relay: Relay): void;
};

const subjects = "changes.device.*";
const listening = gauge("muster_gateway_change_streams", "Streams of changes that this gateway serves.");

/** Changes of devices that tenancy publishes on core NATS; subscribed only while there are listeners. */
export function createChangeFeed(log: Logger): ChangeFeed {
  const listeners = new Set<(message: ChangeMessage) => void>();
  let bus: Relay | null = null;
  let subscription: { stop(): void } | null = null;
  let isCurrent = false;

  const notify = (message: ChangeMessage) => {
    for (const listener of listeners) listener(message);
  };

  /** Once the server has the subscription nothing is missed. */
  const becomeCurrent = async (): Promise<void> => {
    const subscribed = subscription;
    if (bus === null || subscribed === null) return;
    await bus.flush();
    if (subscription !== subscribed) return;
    isCurrent = true;
    notify("current");
  };
  const begin = () => {
    if (bus === null || subscription !== null || listeners.size === 0) return;
    subscription = bus.listen(subjects, (body, _answer, subject) => {
      try {
        const message = deviceChangeOf(subject, body);
        if (message !== null) notify(message);
      } catch (err) {
        log.warn({ err, subject }, "unreadable change of a device");
      }
    });
    becomeCurrent().catch(logFailure);
  };
  const logFailure = (err: unknown) => log.info({ err }, "changes of devices are not delivered for now");
  const setListening = () => listening.set(listeners.size);

  return {
    listen(listener) {
      listeners.add(listener);
      setListening();
      begin();
      if (isCurrent) listener("current");
      return {
        stop() {
          listeners.delete(listener);
          setListening();
          if (listeners.size > 0) return;
          subscription?.stop();
          subscription = null;
          isCurrent = false;
        },
      };
    },
    attach(relay) {
      bus = relay;
      relay.onReconnect(() => {
        isCurrent = false;
        becomeCurrent().catch(logFailure);
      });
      begin();
    },
  };
}

/** Null for a kind of change that this version does not support. */
function deviceChangeOf(subject: string, body: Uint8Array): DeviceChange | null {
  const change = subject.slice(subjects.length - 1);
  if (change !== "created" && change !== "updated" && change !== "decommissioned") return null;
  const { id, partnerId, orgId, siteId, status } = decode(DeviceChangedSchema, body);
  return { change, id, partnerId, orgId, siteId: siteId || null, status };
}
