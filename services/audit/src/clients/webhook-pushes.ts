import { createClient } from "@connectrpc/connect";
import { type CallContext, type Caller, ownMeta, type RequestHeader, systemCaller } from "@muster/kit";
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
  /** Whose addresses count: empty is a webhook's. */
  sinkType: "" | "https" | "s3";
  /** PEM of the authority of the receiver's certificate; empty: the system's. */
  ca: string;
  /** PUT: a request that the sender has signed. */
  method: "POST" | "PUT";
};

export type SyslogPush = { partnerId: string; url: string; ca: string; frames: Buffer };

/** The dispatcher's way out, as streams need it. */
export type Pushes = {
  /** The URL as users may see it. Throws `invalid_webhook_url` with the reason. */
  check(url: string, sinkType: "" | "https" | "s3" | "syslog", context: CallContext): Promise<string>;
  /**
   * One request and what came of it. Throws AppError when nothing was sent or the dispatcher does not answer.
   */
  push(push: Push): Promise<Pushed>;
  /** As push, for frames of a syslog receiver: no answer, and no status. */
  pushSyslog(push: SyslogPush): Promise<Pushed>;
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
    async check(url, sinkType, { meta, deadlineMs }) {
      const endMs = Math.min(deadlineMs ?? Number.POSITIVE_INFINITY, performance.now() + checkTimeoutMs);
      const call = callOptions({ caller, meta, deadlineMs: endMs });
      return (await client.checkUrl({ url, sinkType }, call).catch(fail)).shownUrl;
    },
    async pushSyslog(push) {
      const { errorCode, errorMessage } = await client.pushSyslog(push, pushCall(caller)).catch(fail);
      return { status: null, error: errorCode === "" ? null : errorMessage, body: Buffer.alloc(0) };
    },
    async push({ id, type, ...push }) {
      const call = pushCall(caller);
      const request = { ...push, headers: [...push.headers], deliveryId: id, eventId: id, eventType: type, keepBytes };
      const { status, errorCode, errorMessage, body } = await client.push(request, call).catch(fail);
      return { status: status ?? null, error: errorCode === "" ? null : errorMessage, body: Buffer.from(body) };
    },
    close: () => transport.close(),
  };
}

function pushCall(caller: Caller) {
  const meta = ownMeta();
  return callOptions({ caller, meta, deadlineMs: performance.now() + pushTimeoutMs });
}
