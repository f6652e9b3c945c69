import { createHash } from "node:crypto";
import { hasFields, memberText } from "@muster/kit";

/** The input of every delivery of an event. */
export type Envelope = { id: string; type: string; timestamp: Date; orgId: string; dataJson: string };

/** Bytes of `data` as JSON. */
export const maxDataBytes = 65_536;

/** The body as it is sent and signed (docs/behaviour.md#webhook-deliveries); `dataJson` is spliced in unchanged. */
export function envelopeBody({ id, type, timestamp, orgId, dataJson }: Envelope): string {
  const head = JSON.stringify({ id, type, timestamp: timestamp.toISOString(), orgId });
  return `${head.slice(0, -1)},"data":${dataJson}}`;
}

/** `data` of a stored body, as it was posted. */
export function dataOf(body: string): string {
  return memberText(body, "data") ?? "{}";
}

/** Whether a text is a JSON object of at most 64 KiB. It is never written anew: that would change numbers and order. */
export function isObjectText(json: string): boolean {
  if (Buffer.byteLength(json) > maxDataBytes) return false;
  try {
    return hasFields(JSON.parse(json));
  } catch {
    return false;
  }
}

const namespace = Buffer.from("b7a4f7f05c1e4d5f9b1a0f3a6d8e2c41", "hex");

/** UUIDv5 (RFC 9562) of webhook, organization and event: the same event never makes two deliveries to one webhook. */
export function deliveryId(webhookId: string, orgId: string, eventId: string): string {
  const digest = createHash("sha1").update(namespace).update(`${webhookId}/${orgId}/${eventId}`).digest();
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = digest.toString("hex", 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const dayMs = 86_400_000;

/** Longest time, in days, since an event happened: streams keep messages for a week. */
export function oldestDays(retentionDays: number): number {
  return Math.min(7, retentionDays);
}

/** When an event counts as having happened: never in the future, nor before the oldest day that has a table. */
export function occurredAt(claimed: Date, now: Date, retentionDays: number): Date {
  const earliest = now.getTime() - oldestDays(retentionDays) * dayMs;
  return new Date(Math.max(earliest, Math.min(claimed.getTime(), now.getTime())));
}
