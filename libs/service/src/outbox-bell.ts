import type { Bus } from "@muster/bus";
import type { OutboxBell } from "@muster/db";
import { atMostEvery } from "@muster/kit";

const gapMs = 10;
const nothing = new Uint8Array();

/**
 * Tells the other processes of a service, over core NATS, that messages wait in their outbox: the relay that holds the
 * lease may be in any of them. Nothing is stored; a lost message delays them until the holder's next look.
 */
export function outboxBell({ tell, listen }: Pick<Bus["relay"], "tell" | "listen">, service: string): OutboxBell {
  const subject = `outbox.${service}`;
  return {
    ring: atMostEvery(gapMs, () => tell(subject, nothing)),
    listen: (onRing) => listen(subject, () => onRing()),
  };
}
