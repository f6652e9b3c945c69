import type { ServiceImpl } from "@connectrpc/connect";
import { type Egress, EgressRefused, shownUrl } from "@muster/egress";
import { AppError, createCounts, shareIn } from "@muster/kit";
import type { PushService } from "@muster/proto/muster/webhook/v1/push_pb";
import { callContext } from "@muster/rpc";
import { unsafeMessage } from "../rules/answer.ts";
import { plainHeaders, requestHeaders } from "../rules/request.ts";
import { splitUserinfo } from "../rules/target.ts";

export type PushDeps = {
  egress: Pick<Egress, "check" | "send">;
  now: () => Date;
  timeoutMs: number;
  /** Most pushes of this process in flight, of which a partner gets its fair share; deliveries do not count. */
  concurrency: number;
};

/** Of an answer's body. */
const maxKeptBytes = 65_536;

/** Only services call this (libs/rpc/src/caller/issuers.ts). */
export function pushService({ egress, now, timeoutMs, concurrency }: PushDeps): ServiceImpl<typeof PushService> {
  /** Pushes by partner. */
  const inFlight = createCounts();
  return {
    async checkUrl({ url }, handler) {
      requireService(callContext(handler).caller.actor.type);
      await validated(() => egress.check(url));
      return { shownUrl: shownUrl(url) };
    },

    async push(request, handler) {
      requireService(callContext(handler).caller.actor.type);
      const { partnerId } = request;
      if (inFlight.of(partnerId) >= shareIn(inFlight, partnerId, concurrency)) {
        throw new AppError("overloaded", "Too many pushes are in flight", { retryAfterSeconds: 1 });
      }
      inFlight.add(partnerId, 1);
      try {
        // A text that is no URL is refused by `egress.check`, with its reason.
        const { url, userinfo } = URL.canParse(request.url)
          ? splitUserinfo(request.url)
          : { url: request.url, userinfo: null };
        const target = await validated(() => egress.check(url));
        const body = Buffer.from(request.body);
        const { deliveryId, eventId, eventType, attempt, possibleDuplicate, secret } = request;
        const secrets = secret === "" ? [] : [secret];
        const facts = {
          messageId: eventId,
          deliveryId,
          eventId,
          eventType,
          source: "platform" as const,
          body,
          attempt,
          possibleDuplicate,
          secrets,
          userinfo,
        };
        const { contentType, headers: own } = request;
        const headers =
          contentType === ""
            ? requestHeaders({ ...facts, customHeaders: own }, now())
            : plainHeaders({ contentType, deliveryId, attempt, userinfo, own });
        const { signal } = handler;
        const keepBytes = Math.min(request.keepBytes, maxKeptBytes);
        const limits = { timeoutMs, keepBytes, drainBytes: maxKeptBytes, signal };
        const answer = await egress.send(target, { method: "POST", headers, body, ...limits });
        const { status, error, totalMs, body: answered } = answer;
        if (status !== null && status >= 200 && status < 300) return { status, totalMs, body: answered };
        const unsafe = error?.code === "unsafe_url";
        const errorMessage = unsafe ? unsafeMessage : (error?.message ?? `The receiver answered ${status}`);
        const errorCode = error?.code ?? "status";
        return { ...(status === null ? {} : { status }), errorCode, errorMessage, totalMs, body: answered };
      } finally {
        inFlight.add(partnerId, -1);
      }
    },
  };
}

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
