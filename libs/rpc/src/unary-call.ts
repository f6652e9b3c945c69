import { type DescMessage, type DescMethodUnary, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type UnaryResponse } from "@connectrpc/connect";
import { codeFromHttpStatus, errorFromJsonBytes, trailerDemux } from "@connectrpc/connect/protocol-connect";
import type { Dispatcher } from "undici";
import type { RpcMethod } from "./rpc-method.ts";

export type Answer = UnaryResponse<DescMessage, DescMessage>;

type Options = {
  method: DescMethodUnary;
  described: RpcMethod;
  maxResponseBytes: number;
  /** How many servers there are to connect to. */
  servers: number;
  /** Sends once more on a fresh connection. */
  again: (call: UnaryCall, connected: boolean) => void;
  /** The server takes no more calls on this connection: it is about to end. */
  leaving: () => void;
  settled: (error: ConnectError | null, answer: Answer | null) => void;
};

/**
 * One Connect unary call on undici's dispatch interface (the raw one: no header object, no body stream). Repeated while
 * connecting fails or the server has not read it, twice per server, and once when no byte came back and the method's idempotency
 * level allows it.
 */
export class UnaryCall implements Dispatcher.DispatchHandler {
  readonly #options: Options;
  #abort: ((error?: Error) => void) | undefined;
  #done = false;
  #repeated = false;
  #refusals = 0;
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
      if (this.#mayMove()) this.#refused();
      else this.#finish(new ConnectError("Service is unavailable", Code.Unavailable), null);
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
    const connected = this.#connected;
    const mayRepeat = connected
      ? !this.#answered && !this.#repeated && this.#options.described.repeatable
      : this.#mayMove();
    if (mayRepeat && !connected) this.#refused();
    else if (mayRepeat) {
      this.#repeated = true;
      this.#sendAgain(true);
    } else
      this.#finish(new ConnectError("Service is unavailable", Code.Unavailable, undefined, undefined, error), null);
  }

  /** Each server twice: while they are replaced one after the other, a call can meet the one that leaves and the one that left. */
  #mayMove(): boolean {
    return this.#refusals < 2 * this.#options.servers;
  }

  /** Whatever this server may be told again, another can be told: it did nothing. */
  #refused(): void {
    this.#refusals += 1;
    this.#sendAgain(false);
  }

  #sendAgain(connected: boolean): void {
    this.#connected = false;
    this.#answered = false;
    this.#abort = undefined;
    this.#status = 0;
    this.#rawHeaders = [];
    this.#chunks = [];
    this.#size = 0;
    this.#options.again(this, connected);
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
      return new LeanAnswer(method, fromBinary(method.output, body), this.#rawHeaders);
    }
    const fallback = new ConnectError(`HTTP ${this.#status}`, codeFromHttpStatus(this.#status));
    if (this.#status === 200 || !contentType?.startsWith("application/json")) throw fallback;
    throw errorFromJsonBytes(body, webHeaders(this.#rawHeaders), fallback);
  }
}

const noBytes = Buffer.alloc(0);

/** Header and trailer are worked out when somebody asks for them. */
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
    const [key, value] = [raw[at] as Buffer, raw[at + 1] as Buffer];
    if (key.length === 10 && value.length === 5 && value.equals(close)) {
      return key.toString("latin1").toLowerCase() === "connection";
    }
  }
  return false;
}

const close = Buffer.from("close");

function rawHeader(raw: Buffer[], name: string): string | undefined {
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const key = raw[at] as Buffer;
    if (key.length === name.length && key.toString("latin1").toLowerCase() === name) {
      return (raw[at + 1] as Buffer).toString("latin1");
    }
  }
  return undefined;
}

function webHeaders(raw: Buffer[]): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < raw.length; at += 2) {
    headers.append((raw[at] as Buffer).toString("latin1"), (raw[at + 1] as Buffer).toString("latin1"));
  }
  return headers;
}
