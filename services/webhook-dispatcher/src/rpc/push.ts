import type { ServiceImpl } from "@connectrpc/connect";
import { type Egress, EgressRefused, shownUrl } from "@muster/egress";
import { AppError, createCounts, shareIn } from "@muster/kit";
import type { PushRequest, PushService } from "@muster/proto/muster/webhook/v1/push_pb";
import { callContext } from "@muster/rpc";
import type { SinkEgresses } from "../clients/sink-egress.ts";
import { unsafeMessage } from "../rules/answer.ts";
import { plainHeaders, requestHeaders, signedHeaders } from "../rules/request.ts";
import { splitUserinfo } from "../rules/target.ts";

type OneEgress = Pick<Egress, "check" | "send" | "sendSyslog">;
export type PushDeps = {
  egress: OneEgress;
  /** Of sinks of audit streams, which may reach what the operator has opened for them. */
  sinks: Pick<SinkEgresses, "of">;
  now: () => Date;
  timeoutMs: number;
  /** Most pushes of this process in flight, of which a partner gets its fair share; deliveries do not count. */
  concurrency: number;
};

/** Of an answer's body. */
const maxKeptBytes = 65_536;

/** Only services call this (libs/rpc/src/caller/issuers.ts). */
export function pushService(deps: PushDeps): ServiceImpl<typeof PushService> {
  const { timeoutMs, sinks } = deps;
  const share = sharing(deps.concurrency);
  return {
    async checkUrl({ url, sinkType }, handler) {
      requireService(callContext(handler).caller.actor.type);
      const egress = egressFor(deps, sinkType);
      if (sinkType === "syslog") {
        await validated(() => egress.check(httpsOf(url)));
        return { shownUrl: url };
      }
      await validated(() => egress.check(url));
      return { shownUrl: shownUrl(url) };
    },

    async push(request, handler) {
      requireService(callContext(handler).caller.actor.type);
      return share(request.partnerId, () => pushed(deps, request, handler.signal));
    },

    async pushSyslog({ url, frames, ca, partnerId }, handler) {
      requireService(callContext(handler).caller.actor.type);
      return share(partnerId, async () => {
        const egress = sinks.of("syslog");
        const target = await validated(() => egress.check(httpsOf(url)));
        const startedMs = performance.now();
        const { signal } = handler;
        const sent = { frames: Buffer.from(frames), ca: ca || undefined, timeoutMs, signal };
        const failure = await egress.sendSyslog(target, sent);
        const totalMs = Math.round(performance.now() - startedMs);
        if (failure === null) return { totalMs };
        const errorMessage = failure.code === "unsafe_url" ? unsafeMessage : failure.message;
        return { errorCode: failure.code, errorMessage, totalMs };
      });
    },
  };
}

async function pushed(deps: PushDeps, request: PushRequest, signal: AbortSignal) {
  const { now, timeoutMs } = deps;
  const egress = egressFor(deps, request.sinkType);
  // A text that is no URL is refused by `egress.check`, with its reason.
  const { url, userinfo } = URL.canParse(request.url)
    ? splitUserinfo(request.url)
    : { url: request.url, userinfo: null };
  const target = await validated(() => egress.check(url));
  const body = Buffer.from(request.body);
  const method = request.method === "PUT" ? "PUT" : "POST";
  const headers = method === "PUT" ? signedHeaders(request.headers) : headersOf(request, userinfo, body, now());
  const keepBytes = Math.min(request.keepBytes, maxKeptBytes);
  const limits = { timeoutMs, keepBytes, drainBytes: maxKeptBytes, signal };
  const ca = request.ca === "" ? {} : { ca: request.ca };
  const {
    status,
    error,
    totalMs,
    body: answered,
  } = await egress.send(target, { method, headers, body, ...limits, ...ca });
  if (status !== null && status >= 200 && status < 300) return { status, totalMs, body: answered };
  const unsafe = error?.code === "unsafe_url";
  const errorMessage = unsafe ? unsafeMessage : (error?.message ?? `The receiver answered ${status}`);
  const errorCode = error?.code ?? "status";
  return { ...(status === null ? {} : { status }), errorCode, errorMessage, totalMs, body: answered };
}

function headersOf(request: PushRequest, userinfo: string | null, body: Buffer, now: Date): string[] {
  const { deliveryId, eventId, eventType, attempt, possibleDuplicate, secret, contentType, headers: own } = request;
  if (contentType !== "") return plainHeaders({ contentType, deliveryId, attempt, userinfo, own });
  const facts = {
    messageId: eventId,
    deliveryId,
    eventId,
    eventType,
    source: "platform" as const,
    body,
    attempt,
    possibleDuplicate,
    secrets: secret === "" ? [] : [secret],
    signers: [],
    userinfo,
  };
  return requestHeaders({ ...facts, customHeaders: own }, now);
}

/** Runs a push while its partner has a slot. Throws `overloaded`. */
function sharing(concurrency: number) {
  /** Pushes by partner. */
  const inFlight = createCounts();
  return async <T>(partnerId: string, run: () => Promise<T>): Promise<T> => {
    if (inFlight.of(partnerId) >= shareIn(inFlight, partnerId, concurrency)) {
      throw new AppError("overloaded", "Too many pushes are in flight", { retryAfterSeconds: 1 });
    }
    inFlight.add(partnerId, 1);
    try {
      return await run();
    } finally {
      inFlight.add(partnerId, -1);
    }
  };
}

function egressFor({ egress, sinks }: PushDeps, sinkType: string): OneEgress {
  return sinkType === "https" || sinkType === "s3" || sinkType === "syslog" ? sinks.of(sinkType) : egress;
}

/** A receiver's address, `tls://host:port`, in the form whose host and port are checked; other texts are no URL. */
const httpsOf = (url: string): string => {
  const [, authority] = /^tls:\/\/([^/?#@\s]+:\d{1,5})$/.exec(url) ?? [];
  return authority === undefined ? "" : `https://${authority}`;
};

function requireService(actor: string): void {
  if (actor !== "system") throw new AppError("scope_not_allowed", "Only services of the platform may do this");
}

async function validated<T>(check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof EgressRefused)) throw error;
    throw new AppError("invalid_webhook_url", "Invalid webhook URL", {
      facts: { reason: error.reason, reasonText: error.message },
      cause: error,
    });
  }
}
