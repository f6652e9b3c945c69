import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { OutboxMessage } from "@muster/db";
import { zeroUuid } from "@muster/kit";
import { SessionRevokedSchema } from "@muster/proto/muster/events/v1/auth_pb";

/** Tells every gateway that a session family must not be admitted any more. */
export function sessionRevoked(sessionId: string, userId: string, revokedAt: Date): OutboxMessage {
  const event = create(SessionRevokedSchema, { sessionId, userId, revokedAt: timestampFromDate(revokedAt) });
  return {
    subject: "auth.session",
    msgId: `${zeroUuid}/session-${sessionId}`,
    body: toBinary(SessionRevokedSchema, event),
  };
}
