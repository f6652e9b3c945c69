import type { Bus, Follower } from "@muster/bus";
import { counter } from "@muster/kit";
import type { AuthChanges } from "./auth-changes.ts";

const gaps = counter(
  "gateway_auth_gaps_total",
  "Times the AUTH stream may have been missed and the caches were dropped.",
);

/**
 * Follows stream AUTH, the fast way on which changes come (heartbeats bring them, too). When one may have been missed, nothing
 * remembered is used any more; `onGap` may then load what is not asked for again by itself.
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
