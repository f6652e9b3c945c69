import { createHash } from "node:crypto";

/** How a repeat of a device's request is recognised. */
export type LogRequest = {
  /** SHA-256 of the Idempotency-Key, or without one of the body. */
  id: Buffer;
  bodySha256: Buffer;
  keptMinutes: number;
};

const keptMinutesOfKeys = 24 * 60;
/** Agents without keys repeat a request while it is unanswered, not hours later. */
const keptMinutesOfBodies = 10;

/** The request with this body, and with the Idempotency-Key that its client sent, if any. */
export function logRequestOf(bodyJson: Uint8Array, idempotencyKey: string | null): LogRequest {
  const bodySha256 = createHash("sha256").update(bodyJson).digest();
  if (idempotencyKey === null) return { id: bodySha256, bodySha256, keptMinutes: keptMinutesOfBodies };
  // A key never equals a body: of those only the digest is hashed.
  const id = createHash("sha256").update("key\n").update(idempotencyKey).digest();
  return { id, bodySha256, keptMinutes: keptMinutesOfKeys };
}

/** The same request, for one device. */
export const sameRequest = (deviceId: string, { id }: LogRequest): string => `${deviceId} ${id.toString("base64")}`;
