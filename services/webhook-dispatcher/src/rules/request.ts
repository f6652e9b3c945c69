import { createHash, createHmac, type KeyObject } from "node:crypto";
import { isReservedHeader } from "@muster/kit";
import type { Source } from "./poster.ts";
import { asymmetricSignature } from "./signing-key.ts";
import type { Header } from "./webhook.ts";
import { maskedValue } from "./webhook.ts";

export type SignedRequest = {
  /** `webhook-id`: the same whenever this event is sent to this receiver. */
  messageId: string;
  deliveryId: string;
  eventId: string;
  eventType: string;
  /** Null when it is unknown. */
  source: Source | null;
  body: Buffer;
  /** From 1. */
  attempt: number;
  possibleDuplicate: boolean;
  /** The current secret and, in the grace period of a rotation, the previous one. */
  secrets: readonly string[];
  /** Private keys that sign as v1a, in the grace period of a rotation both; none by default. */
  signers: readonly KeyObject[];
  customHeaders: readonly Header[];
  /** `user:password` of the URL. */
  userinfo: string | null;
};

/**
 * `webhook-id` of an event at a webhook: the same over retries, replays and requeued deliveries, so that a receiver
 * that ignores ids it has seen handles the event once. Made of both ids: organizations choose the ids of their own
 * events, and one receiver may serve several of them.
 */
export function messageIdOf(webhookId: string, eventId: string): string {
  return `msg_${createHash("sha256").update(`${webhookId}/${eventId}`).digest().subarray(0, 16).toString("base64url")}`;
}

const sourceHeader = "X-Service-Event-Source";

/** Headers of stored attempts are rebuilt with this constant, too: another value needs a new constant. */
const userAgent = "Service-Webhooks/1.0";

/**
 * Headers of one attempt as name, value, …: those of docs/webhooks.md and of Standard Webhooks, then the webhook's own,
 * which replace none of ours but `User-Agent`.
 */
export function requestHeaders(request: SignedRequest, now: Date): string[] {
  const { messageId, deliveryId, eventId, eventType, body, attempt, secrets, signers } = request;
  const seconds = Math.floor(now.getTime() / 1_000);
  const own = request.customHeaders.filter(({ key }) => !isReservedHeader(key));
  const has = (name: string) => own.some(({ key }) => key.toLowerCase() === name);
  const headers = ["Content-Type", "application/json"];
  if (!has("user-agent")) headers.push("User-Agent", userAgent);
  headers.push(
    "X-Service-Delivery-Id",
    deliveryId,
    "X-Service-Event-Id",
    eventId,
    "X-Service-Event-Type",
    eventType,
    "X-Service-Timestamp",
    String(now.getTime()),
    "X-Service-Attempt",
    String(attempt),
    "webhook-id",
    messageId,
    "webhook-timestamp",
    String(seconds),
  );
  if (request.source !== null) headers.push(sourceHeader, request.source);
  if (request.possibleDuplicate) headers.push("X-Service-Possible-Duplicate", "true");
  if (secrets.length > 0) {
    const hmacs = secrets.map((secret) => `sha256=${hmac(secret, [`${seconds}.`, body]).toString("hex")}`);
    headers.push("X-Service-Signature", hmacs[0] ?? "", "X-Service-Signature-Timestamp", String(seconds));
    // Receivers of X-Service-Signature read one value: the previous secret's has a separate header.
    if (hmacs[1]) headers.push("X-Service-Signature-Previous", hmacs[1]);
  }
  if (secrets.length + signers.length > 0) {
    headers.push("webhook-signature", standardSignatures(request, `${messageId}.${seconds}.`));
  }
  if (request.userinfo !== null && !has("authorization")) {
    headers.push("Authorization", basic(request.userinfo));
  }
  for (const { key, value } of own) headers.push(key, value);
  return headers;
}

/** `webhook-signature` of Standard Webhooks. The symmetric ones come first: some receivers read only the first. */
function standardSignatures({ secrets, signers, body }: SignedRequest, prefix: string): string {
  const symmetric = secrets.map((secret) => `v1,${hmac(standardKey(secret), [prefix, body]).toString("base64")}`);
  if (signers.length === 0) return symmetric.join(" ");
  return [...symmetric, ...signers.map((signer) => asymmetricSignature(signer, prefix, body))].join(" ");
}

/** Headers of a request that is no webhook: ids for whoever looks for a repeat, and the sink's own. */
export function plainHeaders(request: {
  contentType: string;
  deliveryId: string;
  attempt: number;
  userinfo: string | null;
  own: readonly Header[];
}): string[] {
  const own = request.own.filter(({ key }) => !isReservedHeader(key));
  const has = (name: string) => own.some(({ key }) => key.toLowerCase() === name);
  const headers = ["Content-Type", request.contentType];
  if (!has("user-agent")) headers.push("User-Agent", userAgent);
  headers.push("X-Service-Delivery-Id", request.deliveryId, "X-Service-Attempt", String(request.attempt));
  if (request.userinfo !== null && !has("authorization")) headers.push("Authorization", basic(request.userinfo));
  for (const { key, value } of own) headers.push(key, value);
  return headers;
}

const ofConnection = ["host", "content-length", "connection", "transfer-encoding", "expect", "keep-alive", "upgrade"];

/** Headers of a request that its sender has signed: as they are, without those that the connection makes itself. */
export const signedHeaders = (own: readonly Header[]): string[] =>
  own.filter(({ key }) => !ofConnection.includes(key.toLowerCase())).flatMap(({ key, value }) => [key, value]);

const basic = (userinfo: string) => `Basic ${Buffer.from(userinfo).toString("base64")}`;

/** Headers of an attempt as they were sent, and the custom ones of the webhook. */
export type SentHeaders = { sent: readonly string[]; custom: readonly Header[] };

/** The sent headers as the record shows them: values of Authorization and of custom headers are masked. */
export function maskedHeaders({ sent: headers, custom }: SentHeaders): Record<string, string> {
  const hidden = new Set(["authorization", ...custom.map(({ key }) => key.toLowerCase())]);
  const shown: Record<string, string> = {};
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? "";
    shown[name] = hidden.has(name.toLowerCase()) ? maskedValue : (headers[i + 1] ?? "");
  }
  return shown;
}

const signatures = ["X-Service-Signature", "X-Service-Signature-Previous", "webhook-signature"] as const;

/**
 * What `headersOfFirst` needs besides the delivery to rebuild the headers of a first attempt: the signatures, the names
 * of masked headers and the source of the event. Null when a custom header has a reserved name: such headers cannot be
 * rebuilt.
 */
export function headersBeside({ sent, custom }: SentHeaders): string | null {
  if (custom.some(({ key }) => isReservedHeader(key))) return null;
  const values = ["", "", ""];
  let source = "";
  for (let i = 0; i < sent.length; i += 2) {
    const at = signatures.indexOf(sent[i] as (typeof signatures)[number]);
    if (at !== -1) values[at] = sent[i + 1] ?? "";
    if (sent[i] === sourceHeader) source = sent[i + 1] ?? "";
  }
  const masked = custom.map(({ key }) => key);
  if (sent.includes("Authorization") && !masked.includes("Authorization")) masked.push("Authorization");
  return [...values, masked.join(" "), source].join(";");
}

export type FirstAttempt = {
  messageId: string;
  deliveryId: string;
  eventId: string;
  eventType: string;
  startedAt: Date;
  beside: string;
};

/** `maskedHeaders` of a first attempt that was no possible duplicate, in the order in which jsonb keeps names. */
export function headersOfFirst({ messageId, deliveryId, eventId, eventType, startedAt, beside }: FirstAttempt) {
  const [ours = "", previous = "", standard = "", names = "", source = ""] = beside.split(";");
  const masked = names === "" ? [] : names.split(" ");
  const now = startedAt.getTime();
  const seconds = String(Math.floor(now / 1_000));
  const shown: [string, string][] = [
    ["Content-Type", "application/json"],
    ["X-Service-Delivery-Id", deliveryId],
    ["X-Service-Event-Id", eventId],
    ["X-Service-Event-Type", eventType],
    ["X-Service-Timestamp", String(now)],
    ["X-Service-Attempt", "1"],
    ["webhook-id", messageId],
    ["webhook-timestamp", seconds],
    ...masked.map((name): [string, string] => [name, maskedValue]),
  ];
  if (!masked.some((name) => name.toLowerCase() === "user-agent")) shown.push(["User-Agent", userAgent]);
  if (ours !== "") shown.push(["X-Service-Signature", ours], ["X-Service-Signature-Timestamp", seconds]);
  if (standard !== "") shown.push(["webhook-signature", standard]);
  if (source !== "") shown.push([sourceHeader, source]);
  if (previous !== "") shown.push(["X-Service-Signature-Previous", previous]);
  shown.sort(([a], [b]) => a.length - b.length || (a < b ? -1 : 1));
  return Object.fromEntries(shown);
}

function hmac(key: string | Buffer, input: readonly (string | Buffer)[]): Buffer {
  const mac = createHmac("sha256", key);
  for (const part of input) mac.update(part);
  return mac.digest();
}

/** Standard Webhooks: a secret `whsec_…` is the base64 of its key; any other is its own bytes. */
export function standardKey(secret: string): string | Buffer {
  return secret.startsWith("whsec_") ? Buffer.from(secret.slice("whsec_".length), "base64") : secret;
}
