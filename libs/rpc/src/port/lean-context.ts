import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues, createContextValues, type HandlerContext } from "@connectrpc/connect";
import type { Incoming } from "./guard.ts";

/**
 * Context of a call on the lean path. Whatever a handler may read is made when it reads it: web Headers and an
 * AbortSignal would cost more than the rest of the call.
 */
export class LeanContext implements HandlerContext, Incoming {
  readonly method: DescMethod;
  readonly deadlineMs: number | null;
  readonly requestMethod = "POST";
  readonly protocolName = "connect";
  readonly values: ContextValues = createContextValues();
  readonly #request: IncomingMessage;
  readonly #headers: IncomingHttpHeaders;
  #requestHeader: Headers | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;
  #controller: AbortController | undefined;
  #interrupt: ((reason: unknown) => void) | undefined;
  #ended: { reason: unknown } | undefined;

  constructor(method: DescMethod, request: IncomingMessage, deadlineMs: number | null) {
    this.method = method;
    this.deadlineMs = deadlineMs;
    this.#request = request;
    this.#headers = request.headers;
  }

  get service(): DescService {
    return this.method.parent;
  }

  get context(): HandlerContext {
    return this;
  }

  get url(): string {
    return `http://${this.#headers.host ?? "localhost"}${this.#request.url ?? "/"}`;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#ended) this.#controller.abort(this.#ended.reason);
    }
    return this.#controller.signal;
  }

  timeoutMs = (): number | undefined =>
    this.deadlineMs === null ? undefined : Math.max(0, this.deadlineMs - performance.now());

  get requestHeader(): Headers {
    if (!this.#requestHeader) {
      const headers = new Headers();
      for (const [name, value] of Object.entries(this.#headers)) {
        for (const item of Array.isArray(value) ? value : [value ?? ""]) headers.append(name, item);
      }
      this.#requestHeader = headers;
    }
    return this.#requestHeader;
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new Headers();
    return this.#responseHeader;
  }

  get responseTrailer(): Headers {
    this.#responseTrailer ??= new Headers();
    return this.#responseTrailer;
  }

  header(name: string): string | undefined {
    const value = this.#headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  onInterrupt(interrupt: (reason: unknown) => void): void {
    this.#interrupt = interrupt;
    if (this.#ended) interrupt(this.#ended.reason);
  }

  /** Ends the call early: the wait for the handler, and the signal its own calls hang on. */
  interrupt(reason: ConnectError): void {
    if (this.#ended) return;
    this.#ended = { reason };
    this.#interrupt?.(reason);
    this.#controller?.abort(reason);
  }

  /** After the reply: background work that the handler left running is aborted. */
  end(): void {
    if (this.#ended) return;
    this.#ended = over;
    if (this.#controller && !this.#controller.signal.aborted) this.#controller.abort(over.reason);
  }

  /** Appends headers and "trailer-" headers that the handler set, as name, value, name, value …. */
  appendTo(raw: string[]): void {
    this.#responseHeader?.forEach((value, name) => {
      if (!ownHeaders.has(name)) raw.push(name, value);
    });
    this.#responseTrailer?.forEach((value, name) => {
      raw.push(`trailer-${name}`, value);
    });
  }
}

/** One for all calls, made for the first that reads it: an Error costs a stack trace, and this one Node's fetch. */
let ended: ConnectError | undefined;
const over = {
  get reason(): ConnectError {
    ended ??= new ConnectError("the call has ended", Code.Canceled);
    return ended;
  },
};

const ownHeaders = new Set(["content-type", "content-length", "content-encoding", "connection", "transfer-encoding"]);
