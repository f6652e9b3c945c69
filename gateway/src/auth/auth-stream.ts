import { fromBinary } from "@bufbuild/protobuf";
import type { Bus, Follower } from "@muster/bus";
import { counter, type Logger } from "@muster/kit";
import { SessionRevokedSchema } from "@muster/proto/muster/events/v1/auth_pb";
import type { SessionCache } from "./session-cache.ts";

const messages = counter("gateway_auth_messages_total", "Messages of the AUTH stream by subject.", ["subject"]);
const gaps = counter("gateway_auth_gaps_total", "Times the AUTH stream may have been missed and the caches were dropped.");

/** Follows stream AUTH: a revoked session is dropped when its message arrives, every session when one may have been missed. */
export function followAuthStream(bus: Pick<Bus, "follow">, sessions: SessionCache, log: Logger): Follower {
  return bus.follow(
    { stream: "AUTH", filterSubject: "auth.>" },
    {
      onMessage({ subject, body }) {
        messages.labels(subject).inc();
        // Kinds this version does not know belong to credentials it does not serve.
        if (subject !== "auth.session") return;
        try {
          sessions.revoked(fromBinary(SessionRevokedSchema, body).sessionId);
        } catch (err) {
          // What it revoked is unknown, so everything is asked again.
          log.error({ err, subject }, "unreadable message on the AUTH stream");
          sessions.dropAll();
        }
      },
      onGap() {
        gaps.inc();
        sessions.dropAll();
      },
    },
  );
}
