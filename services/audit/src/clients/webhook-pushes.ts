import { createClient } from "@connectrpc/connect";
import { type CallContext, type RequestHeader, systemCaller, uuidv7 } from "@muster/kit";
import { PushService } from "@muster/proto/muster/webhook/v1/push_pb";
import { callOptions, createSigner, createTransport, toAppError } from "@muster/rpc";

/** The body is the beginning of the answer, empty without one. */
export type Pushed = { status: number | null; error: string | null; body: Buffer };

export type Push = {
  partnerId: string;
  url: string;
  /** Empty: not signed. */
  secret: string;
  headers: readonly RequestHeader[];
  /** Empty: that of a webhook, with its headers. */
  contentType: string;
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
   * One request and what came of it. Throws AppError when nothing was sent or the dispatcher does not answer.
   */
  push(push: Push): Promise<Pushed>;
};

const checkTimeoutMs = 8_000;
/** Of an answer: Elasticsearch names each row of a batch. */
const keepBytes = 65_536;
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
    async push({ id, type, ...push }) {
      const meta = { requestId: uuidv7(), clientAddress: null, userAgent: null, traceparent: null };
      const deadlineMs = performance.now() + pushTimeoutMs;
      const call = callOptions({ caller, meta, deadlineMs });
      const request = { ...push, headers: [...push.headers], deliveryId: id, eventId: id, eventType: type, keepBytes };
      const { status, errorCode, errorMessage, body } = await client.push(request, call).catch(fail);
      return { status: status ?? null, error: errorCode === "" ? null : errorMessage, body: Buffer.from(body) };
    },
    close: () => transport.close(),
  };
}
