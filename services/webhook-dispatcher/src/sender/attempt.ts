import type { KeyObject } from "node:crypto";
import { type Egress, EgressRefused, type Exchange } from "@muster/egress";
import { answerText, unsafeMessage } from "../rules/answer.ts";
import { sourceOf } from "../rules/poster.ts";
import { messageIdOf, requestHeaders } from "../rules/request.ts";
import { type Retries, retryAfterMs, retryDelayMs } from "../rules/schedule.ts";
import type { Outcome } from "../store/outcomes.ts";
import type { Claimed, Payload } from "../store/queue.ts";
import type { OpenedWebhook } from "./webhook-cache.ts";

export type AttemptDeps = {
  egress: Pick<Egress, "check" | "send">;
  now: () => Date;
  timeoutMs: number;
  jitterPercent: number;
  random: () => number;
  /** Aborts requests in flight when the process must stop. */
  ending: AbortSignal;
};

type Failed = { code: string; message: string };
type Result = { exchange: Exchange | null; failed: Failed | null; final: boolean };

const noJitter = { percent: 0, share: 0 };
const defaultRetries: Retries = { policy: null, schedule: "standard" };
const keepBytes = 4_096;
const drainBytes = 65_536;

/**
 * Sends one claimed delivery and returns its outcome; null when the process stopped before the answer arrived. Never
 * throws.
 */
export async function attempt(
  deps: AttemptDeps,
  claim: Claimed,
  webhook: OpenedWebhook | null,
  payload: Payload | null,
): Promise<Outcome | null> {
  const startedAt = deps.now();
  const startedMs = performance.now();
  const possibleDuplicate = claim.interruptions > 0;
  let headers: string[] = [];
  let result: Result;
  if (!webhook || !payload) {
    result = { exchange: null, failed: { code: "gone", message: "The payload is not kept any more" }, final: true };
  } else if (exhausted(webhook, claim)) {
    result = { exchange: null, failed: { code: "interrupted", message: "Interrupted too often" }, final: true };
  } else {
    const { secret, previous, signers } = webhook;
    const graced = previous && previous.untilMs > startedAt.getTime() ? [previous.secret] : [];
    const body = Buffer.from(payload.body);
    headers = requestHeaders(
      {
        messageId: messageIdOf(claim.webhook_id, claim.event_id),
        deliveryId: claim.delivery_id,
        eventId: claim.event_id,
        eventType: payload.type,
        source: sourceOf(payload.poster),
        body,
        attempt: claim.attempt,
        possibleDuplicate,
        secrets: secret === null ? [] : [secret, ...graced],
        signers: signersAt(signers, startedAt),
        customHeaders: webhook.headers,
        userinfo: webhook.userinfo,
      },
      startedAt,
    );
    result = await send(deps, webhook, headers, body);
  }
  const { exchange, failed } = result;
  if (failed?.code === "aborted") return null;
  const status = exchange?.status ?? null;
  const delivered = status !== null && status >= 200 && status < 300;
  const failures = claim.failures + (delivered ? 0 : 1);
  return {
    claim,
    event: payload?.type ?? "",
    next: nextOf(deps, result, webhook, failures, delivered),
    failures,
    breaks: !delivered && (status === null || status >= 500),
    gone: status === 410,
    attempt: {
      startedAt,
      connectedMs: exchange?.connectedMs ?? null,
      headersMs: exchange?.headersMs ?? null,
      totalMs: exchange?.totalMs ?? Math.round(performance.now() - startedMs),
      remoteAddress: exchange?.remoteAddress ?? null,
      reused: exchange?.reused ?? false,
      possibleDuplicate,
      headers: { sent: headers, custom: webhook?.headers ?? [] },
      status,
      body: exchange ? answerText(exchange.body, exchange.headers["content-encoding"]) : null,
      errorCode: delivered ? null : (failed?.code ?? "status"),
      errorMessage: delivered ? null : (failed?.message ?? `The receiver answered ${status}`),
    },
  };
}

const noSigners: readonly KeyObject[] = [];

/** The keys that sign at that time. */
function signersAt(signers: OpenedWebhook["signers"], at: Date): readonly KeyObject[] {
  if (!signers) return noSigners;
  const { current, previous } = signers;
  return previous && previous.untilMs > at.getTime() ? [current, previous.signer] : [current];
}

/** Whether no retry is left after interrupted attempts. */
function exhausted(webhook: OpenedWebhook, claim: Claimed): boolean {
  return (
    claim.was_leased && claim.failures > 0 && retryDelayMs(webhook.retries, claim.failures, null, noJitter) === null
  );
}

function nextOf(
  deps: AttemptDeps,
  { exchange, final }: Result,
  webhook: OpenedWebhook | null,
  failures: number,
  delivered: boolean,
): Outcome["next"] {
  if (delivered) return { status: "delivered" };
  // 410 Gone: the webhook fails with it, so that no retry would be sent.
  if (final || exchange?.status === 410) return { status: "failed" };
  const retryAfter = exchange?.status
    ? retryAfterMs(exchange.status, exchange.headers["retry-after"], deps.now())
    : null;
  const jitter = { percent: deps.jitterPercent, share: deps.random() };
  const delayMs = retryDelayMs(webhook?.retries ?? defaultRetries, failures, retryAfter, jitter);
  return delayMs === null ? { status: "failed" } : { status: "retrying", delayMs };
}

async function send(deps: AttemptDeps, webhook: OpenedWebhook, headers: string[], body: Buffer): Promise<Result> {
  try {
    const target = await deps.egress.check(webhook.url);
    const { timeoutMs, ending: signal } = deps;
    const request = { method: "POST" as const, headers, body, timeoutMs, keepBytes, drainBytes, signal };
    const exchange = await deps.egress.send(target, request);
    const { error } = exchange;
    if (error?.code === "unsafe_url") {
      return { exchange, failed: { code: error.code, message: unsafeMessage }, final: false };
    }
    return { exchange, failed: error, final: false };
  } catch (error) {
    if (!(error instanceof EgressRefused)) {
      return { exchange: null, failed: { code: "network", message: "The request failed" }, final: false };
    }
    if (error.reason === "unresolvable") {
      return { exchange: null, failed: { code: "dns", message: error.message }, final: false };
    }
    // A retry may succeed after a refused address, since names resolve differently over time; a refused URL stays
    // refused.
    return { exchange: null, failed: { code: "unsafe_url", message: unsafeMessage }, final: !error.passing };
  }
}
