import { createClient } from "@connectrpc/connect";
import { type CallContext, systemCaller, uuidv7 } from "@muster/kit";
import { PushService } from "@muster/proto/muster/webhook/v1/push_pb";
import { callOptions, createSigner, createTransport, toAppError } from "@muster/rpc";

export type Pushed = { status: number | null; error: string | null };

export type Push = {
  partnerId: string;
  url: string;
  secret: string;
  id: string;
  type: string;
  body: Buffer;
  attempt: number;
  possibleDuplicate: boolean;
};

/** The dispatcher's way out, as streams need it. */
export type Pushes = {
  /** The URL as users may see it. Throws `invalid_webhook_url` with the reason. */
  check(url: string, context: CallContext): Promise<string>;
  /**
   * One signed request and what came of it. Throws AppError when nothing was sent or the dispatcher does not answer.
   */
  push(push: Push): Promise<Pushed>;
};

const checkTimeoutMs = 8_000;
/** Above the dispatcher's own time for one request. */
export const pushTimeoutMs = 45_000;

/** Calls the dispatcher in audit's name. */
export function webhookPushes(options: {
  baseUrls: string[];
  privateKeys: string;
}): Pushes & { close(): Promise<void> } {
  const signer = createSigner({ issuer: "audit", privateKeys: options.privateKeys });
  const transport = createTransport({ baseUrls: options.baseUrls, callers: { service: "webhook-dispatcher", signer } });
  const client = createClient(PushService, transport);
  const caller = systemCaller("audit");
  const fail = (thrown: unknown): never => {
    throw toAppError(thrown);
  };
  return {
    async check(url, { meta, deadlineMs }) {
      const endMs = Math.min(deadlineMs ?? Number.POSITIVE_INFINITY, performance.now() + checkTimeoutMs);
      const call = callOptions({ caller, meta, deadlineMs: endMs });
      return (await client.checkUrl({ url }, call).catch(fail)).shownUrl;
    },
    async push({ partnerId, url, secret, id, type, body, attempt, possibleDuplicate }) {
      const meta = { requestId: uuidv7(), clientAddress: null, userAgent: null, traceparent: null };
      const deadlineMs = performance.now() + pushTimeoutMs;
      const call = callOptions({ caller, meta, deadlineMs });
      const request = { url, secret, deliveryId: id, eventId: id, eventType: type, body, attempt, possibleDuplicate };
      const wanted = { ...request, partnerId };
      const { status, errorCode, errorMessage } = await client.push(wanted, call).catch(fail);
      return { status: status ?? null, error: errorCode === "" ? null : errorMessage };
    },
    close: () => transport.close(),
  };
}
