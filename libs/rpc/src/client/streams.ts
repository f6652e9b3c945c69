import type { Transport } from "@connectrpc/connect";
import type { Http2SessionManager } from "@connectrpc/connect-node";
import type { TlsFiles } from "@muster/kit";

export type StreamOptions = {
  baseUrls: readonly string[];
  /** Milliseconds after which a connection without a stream is closed. */
  idleMs: number;
  maxResponseBytes: number;
  tls: TlsFiles | null;
};

/** The transports of streams: connect-node over HTTP/2, one per base URL, in turn. */
export class Streams {
  readonly #options: StreamOptions;
  readonly #sessions = new Set<Http2SessionManager>();
  #transports: Promise<Transport[]> | undefined;
  /** Of the certificate that the transports were opened with. */
  #version: ReturnType<TlsFiles["version"]> | undefined;
  #turn = 0;

  constructor(options: StreamOptions) {
    this.#options = options;
  }

  async next(): Promise<Transport> {
    const { tls } = this.#options;
    if (!this.#transports || tls?.version() !== this.#version) {
      this.#version = tls?.version();
      this.#transports = this.#open();
    }
    const transports = await this.#transports;
    this.#turn = (this.#turn + 1) % transports.length;
    const transport = transports[this.#turn];
    if (!transport) throw new Error("No base URL is given");
    return transport;
  }

  /** Ends all streams. */
  close(): void {
    for (const session of this.#sessions) session.abort();
  }

  // Loaded with the first stream: few processes open any.
  async #open(): Promise<Transport[]> {
    const { createConnectTransport, Http2SessionManager } = await import("@connectrpc/connect-node");
    const { baseUrls, idleMs, maxResponseBytes, tls } = this.#options;
    for (const session of this.#sessions) if (session.state() === "closed") this.#sessions.delete(session);
    return baseUrls.map((baseUrl) => {
      const options = tls ? { secureContext: tls.context() } : {};
      const sessionManager = new Http2SessionManager(baseUrl, { idleConnectionTimeoutMs: idleMs }, options);
      this.#sessions.add(sessionManager);
      return createConnectTransport({
        baseUrl,
        httpVersion: "2",
        useBinaryFormat: true,
        sessionManager,
        readMaxBytes: maxResponseBytes,
        // Compressing costs a server ten times the rest of a stream, and binaries do not shrink.
        acceptCompression: [],
      });
    });
  }
}
