import { fromBinary } from "@bufbuild/protobuf";
import type { Bus, Follower } from "@muster/bus";
import { counter, type Logger } from "@muster/kit";
import {
  SessionRevokedSchema,
  TenantStatusChangedSchema,
  UserChangedSchema,
} from "@muster/proto/muster/events/v1/auth_pb";
import type { SessionCache } from "./session-cache.ts";

const messages = counter("gateway_auth_messages_total", "Messages of the AUTH stream by subject.", ["subject"]);
const gaps = counter(
  "gateway_auth_gaps_total",
  "Times the AUTH stream may have been missed and the caches were dropped.",
);

/**
 * Follows stream AUTH: a revoked session, and what is remembered of a changed person or a tenant's people, is dropped when
 * its message arrives, every session when one may have been missed.
 */
export function followAuthStream(bus: Pick<Bus, "follow">, sessions: SessionCache, log: Logger): Follower {
  return bus.follow(
    { stream: "AUTH", filterSubject: "auth.>" },
    {
      onMessage({ subject, body }) {
        messages.labels(subject).inc();
        try {
          apply(subject, body, sessions);
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

/** Kinds this version does not know belong to credentials it does not serve. */
function apply(subject: string, body: Uint8Array, sessions: SessionCache): void {
  switch (subject) {
    case "auth.session":
      sessions.revoked(fromBinary(SessionRevokedSchema, body).sessionId);
      break;
    case "auth.user": {
      const { userId } = fromBinary(UserChangedSchema, body);
      sessions.forget(({ principal }) => principal.userId === userId);
      break;
    }
    case "auth.tenant": {
      const { kind, id } = fromBinary(TenantStatusChangedSchema, body);
      sessions.forget(({ principal }) => (kind === "partner" ? principal.partnerId : principal.orgId) === id);
      break;
    }
  }
}
