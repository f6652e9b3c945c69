import type { DescMessage, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type UnaryResponse } from "@connectrpc/connect";
import { codeFromHttpStatus, errorFromJsonBytes, trailerDemux } from "@connectrpc/connect/protocol-connect";
import type { Dispatcher } from "undici";
import { decode } from "../codec/codec.ts";
import type { RpcMethod } from "../protocol/rpc-method.ts";
import type { Patience } from "./patience.ts";

export type Answer = UnaryResponse<DescMessage, DescMessage>;

type Options = {
  method: DescMethodUnary;
  described: RpcMethod;
  maxResponseBytes: number;
  patience: Patience;
  /** Sends once more on a fresh connection, after `waitMs`. */
  again: (call: UnaryCall, connected: boolean, waitMs: number) => void;
  /** The server takes no more calls on this connection: it is about to end. */
  leaving: () => void;
  settled: (error: ConnectError | null, answer: Answer | null) => void;
};

/**
 * One Connect unary call on undici's dispatch interface (the raw one: no header object, no body stream). Repeated while
 * connecting fails or the server has not read it, for as long as its patience lasts, and once when no byte came back
 * and the method's idempotency level allows it.
 */
export class UnaryCall implements Dispatcher.DispatchHandler {
  readonly #options: Options;
  #abort: ((error?: Error) => void) | undefined;
  #done = false;
  #repeated = false;
  #refusals = 0;
  #firstRefusedMs = 0;
  #connected = false;
  #answered = false;
  #status = 0;
  #rawHeaders: Buffer[] = [];
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Ends the call from outside; the connection it runs on is closed, so that the server learns of it. */
  cancel(error: ConnectError): void {
    this.#finish(error, null);
    this.#abort?.(error);
  }

  /** The deadline has passed. If every server refused the call so far, the caller gets that refusal. */
  expire(): void {
    if (this.#refusals > 0 && !this.#connected) this.#unavailable();
    else this.#finish(new ConnectError("the operation timed out", Code.DeadlineExceeded), null);
    this.#abort?.();
  }

  onConnect(abort: (error?: Error) => void): void {
    this.#connected = true;
    this.#abort = abort;
    if (this.#done) abort(new Error("the call has ended"));
  }

  onResponseStarted(): void {
    this.#answered = true;
  }

  onHeaders(status: number, rawHeaders: Buffer[]): boolean {
    this.#answered = true;
    this.#status = status;
    this.#rawHeaders = rawHeaders;
    if (status !== 408) this.#options.patience.answered();
    if (saysClose(rawHeaders)) this.#options.leaving();
    return true;
  }

  onData(chunk: Buffer): boolean {
    this.#size += chunk.length;
    if (this.#size > this.#options.maxResponseBytes) {
      this.cancel(new ConnectError("the answer is too large", Code.ResourceExhausted));
    } else this.#chunks.push(chunk);
    return true;
  }

  onComplete(): void {
    // The server leaves and has not read the request.
    if (this.#status === 408 && !this.#done) {
      this.#refused();
      return;
    }
    const [first = noBytes] = this.#chunks;
    const body = this.#chunks.length > 1 ? Buffer.concat(this.#chunks, this.#size) : first;
    try {
      this.#finish(null, this.#read(body));
    } catch (error) {
      this.#finish(ConnectError.from(error, Code.Internal), null);
    }
  }

  onError(error: Error): void {
    if (this.#done) return;
    if (!this.#connected) this.#refused(error);
    else if (!this.#answered && !this.#repeated && this.#options.described.repeatable) {
      this.#repeated = true;
      this.#sendAgain(true, 0);
    } else this.#unavailable(error);
  }

  /** A request that may be repeated at this server may go to another one: this one did nothing. */
  #refused(error?: Error): void {
    this.#firstRefusedMs ||= performance.now();
    this.#refusals += 1;
    const waitMs = this.#options.patience.nextTryMs(this.#refusals, this.#firstRefusedMs);
    if (waitMs === null) this.#unavailable(error);
    else this.#sendAgain(false, waitMs);
  }

  #unavailable(error?: Error): void {
    this.#finish(new ConnectError("Service is unavailable", Code.Unavailable, undefined, undefined, error), null);
  }

  #sendAgain(connected: boolean, waitMs: number): void {
    this.#connected = false;
    this.#answered = false;
    this.#abort = undefined;
    this.#status = 0;
    this.#rawHeaders = [];
    this.#chunks = [];
    this.#size = 0;
    this.#options.again(this, connected, waitMs);
  }

  #finish(error: ConnectError | null, answer: Answer | null): void {
    if (this.#done) return;
    this.#done = true;
    this.#options.settled(error, answer);
  }

  #read(body: Buffer): Answer {
    const { method } = this.#options;
    const contentType = rawHeader(this.#rawHeaders, "content-type");
    if (this.#status === 200 && contentType === "application/proto") {
      return new LeanAnswer(method, decode(method.output, body), this.#rawHeaders);
    }
    const fallback = new ConnectError(`HTTP ${this.#status}`, codeFromHttpStatus(this.#status));
    if (this.#status === 200 || !contentType?.startsWith("application/json")) throw fallback;
    throw errorFromJsonBytes(body, webHeaders(this.#rawHeaders), fallback);
  }
}

const noBytes = Buffer.alloc(0);

/** Header and trailer are parsed on first access. */
class LeanAnswer implements UnaryResponse<DescMessage, DescMessage> {
  readonly stream = false;
  readonly method: DescMethodUnary;
  readonly message: MessageShape<DescMessage>;
  readonly #rawHeaders: Buffer[];
  #demuxed: [Headers, Headers] | undefined;

  constructor(method: DescMethodUnary, message: MessageShape<DescMessage>, rawHeaders: Buffer[]) {
    this.method = method;
    this.message = message;
    this.#rawHeaders = rawHeaders;
  }

  get service() {
    return this.method.parent;
  }

  get header(): Headers {
    return this.#both()[0];
  }

  get trailer(): Headers {
    return this.#both()[1];
  }

  #both(): [Headers, Headers] {
    this.#demuxed ??= trailerDemux(webHeaders(this.#rawHeaders));
    return this.#demuxed;
  }
}

/** `Connection: close`; lengths first, because every answer is looked at. */
function saysClose(raw: Buffer[]): boolean {
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [key, value] = [raw[at], raw[at + 1]];
    if (key?.length === 10 && value?.equals(close)) {
      return key.toString("latin1").toLowerCase() === "connection";
    }
  }
  return false;
}

const close = Buffer.from("close");

function rawHeader(raw: Buffer[], name: string): string | undefined {
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const key = raw[at];
    if (key?.length === name.length && key.toString("latin1").toLowerCase() === name) {
      return raw[at + 1]?.toString("latin1");
    }
  }
  return undefined;
}

function webHeaders(raw: Buffer[]): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < raw.length; at += 2) {
    headers.append(raw[at]?.toString("latin1") ?? "", raw[at + 1]?.toString("latin1") ?? "");
  }
  return headers;
}
