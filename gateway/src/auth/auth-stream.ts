import type { Bus, Follower } from "@muster/bus";
import { counter } from "@muster/kit";
import type { AuthChanges } from "./auth-changes.ts";

const gaps = counter(
  "muster_gateway_auth_gaps_total",
  "Times the AUTH stream may have been missed and the caches were dropped.",
);

/**
 * Follows stream AUTH, the fast path for changes (heartbeats carry them, too). After a possible gap, every cached entry
 * is invalidated; `onGap` may then load state that is not resolved on demand.
 */
export function followAuthStream(
  bus: Pick<Bus, "follow">,
  changes: AuthChanges,
  onGap: () => void = () => {},
): Follower {
  return bus.follow(
    { stream: "AUTH", filterSubject: "auth.>" },
    {
      onMessage: ({ subject, msgId, body }) => changes.take([{ id: msgId, subject, body }]),
      onGap() {
        gaps.inc();
        changes.dropAll();
        onGap();
      },
    },
  );
}
