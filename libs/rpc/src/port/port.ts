import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Session } from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, TLSSocket } from "node:tls";
import { counter, gauge, type Logger, type Readiness, type TlsFiles } from "@muster/kit";
import { Health } from "@muster/proto/grpc/health/v1/health_pb";
import { ProbeService } from "@muster/proto/muster/common/v1/probe_pb";
import type { Verifier } from "../caller/verifier.ts";
import { defaultLimits, maxHeaderBytes, type PortLimits } from "../protocol/limits.ts";
import { processTls } from "../protocol/tls.ts";
import { createHealth } from "./health.ts";
import { createProbe } from "./probe.ts";
import { guardedRoutes, type Registration, register } from "./registration.ts";
import { createShortPath } from "./short-path.ts";
import { sniff } from "./sniff.ts";
import { stockOnDemand } from "./stock-on-demand.ts";

const openConnections = gauge("muster_rpc_server_connections", "Open connections of the RPC port.");
const tlsRejected = counter(
  "muster_rpc_server_tls_rejected_total",
  "Connections of the RPC port whose TLS handshake failed.",
);

export type PortOptions = {
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** Shown by ProbeService.GetInfo. */
  name: string;
  version: string;
  sharedSettings?: Readonly<Record<string, string>>;
  services: readonly Registration[];
  verifier: Verifier;
  log: Logger;
  readiness: Readiness;
  /** Milliseconds that new connections are still taken after health turned to NOT_SERVING. */
  drainDelayMs: number;
  /** Milliseconds that calls in flight may then take. */
  graceMs: number;
  limits?: Partial<PortLimits>;
  /** Certificates for mutual TLS; the process's own by default. */
  tls?: TlsFiles | null;
};

export type RpcPort = {
  port: number;
  /**
   * NOT_SERVING and `Connection: close` in every answer for the drain delay; then GOAWAY, 408 on idle and new
   * connections, so that no client is in doubt, and no more of those once none came for a moment; grace, then
   * whatever is left is aborted. Resolves when all is closed.
   */
  drain(): Promise<void>;
};

/**
 * Serves Connect, gRPC and gRPC-Web on one port, with grpc.health.v1 and ProbeService besides `services`. Cleartext:
 * HTTP/1.1 and HTTP/2 are distinguished by the first bytes. With TLS: by ALPN, and clients show a certificate of our
 * authority. Rejects when the address cannot be had.
 */
export async function servePort(options: PortOptions): Promise<RpcPort> {
  const served = new ServedPort(options);
  await served.listen();
  return served;
}

class ServedPort implements RpcPort {
  readonly #options: PortOptions;
  readonly #limits: PortLimits;
  readonly #tls: TlsFiles | null;
  readonly #health: ReturnType<typeof createHealth>;
  readonly #shortPath: ReturnType<typeof createShortPath>;
  readonly #stock: ReturnType<typeof stockOnDemand>;
  readonly #h1: HttpServer;
  readonly #h2: Http2Server;
  readonly #net: Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #sockets = new Set<Socket>();
  readonly #h1Sockets = new Set<Socket>();
  readonly #undecided = new Set<Socket>();
  /** Beneath TLS, and before its handshake is over. */
  readonly #raw = new Set<Socket>();
  readonly #dismissed = new WeakSet<Socket>();
  #draining = false;
  #leaving = false;
  #taken = 0;
  #drained: Promise<void> | undefined;

  constructor(options: PortOptions) {
    const { name, version, log, readiness, sharedSettings = {}, tls = processTls() } = options;
    this.#options = options;
    this.#tls = tls;
    this.#limits = { ...defaultLimits, ...options.limits };
    const names = new Set([...options.services.map(({ service }) => service.typeName), ProbeService.typeName]);
    this.#health = createHealth(readiness, names);
    const probe = createProbe({ name, version, readiness, sharedSettings });
    const services = [...options.services, register(ProbeService, probe), register(Health, this.#health.impl)];
    const stopping = () => this.#draining || readiness.state === "draining";
    const routes = guardedRoutes(services, { verifier: options.verifier, log, stopping });
    this.#shortPath = createShortPath(routes.unary, this.#limits);
    this.#stock = stockOnDemand(routes, this.#limits, log);
    this.#h1 = this.#createH1();
    this.#h2 = this.#createH2();
    this.#net = this.#createNet();
  }

  get port(): number {
    const address = this.#net.address();
    if (address === null || typeof address === "string") throw new Error("the port does not listen");
    return address.port;
  }

  /** Rejects when the address cannot be had. */
  readonly listen = (): Promise<void> => {
    const { port, host, log } = this.#options;
    return new Promise<void>((resolve, reject) => {
      this.#net.once("error", reject);
      this.#net.listen(port, host, () => {
        this.#net.off("error", reject);
        this.#net.on("error", (err) => log.error({ err }, "rpc port failed"));
        resolve();
      });
    });
  };

  readonly drain = (): Promise<void> => {
    this.#drained ??= this.#drainOnce();
    return this.#drained;
  };

  #createH1(): HttpServer {
    const limits = this.#limits;
    const server = createHttpServer(
      {
        maxHeaderSize: maxHeaderBytes,
        headersTimeout: limits.headersMs,
        requestTimeout: limits.requestMs,
        keepAliveTimeout: limits.keepAliveMs,
        // How often the two timeouts above are checked; Node's default is 30 s.
        connectionsCheckingInterval: Math.min(1_000, limits.headersMs),
      },
      (request, response) => this.#answer(request, response),
    );
    // A server that never listened would start none of its timers.
    server.emit("listening");
    return server;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    response.sendDate = false;
    if (this.#draining) {
      // Its connection got a GOAWAY: the client repeats this request elsewhere.
      if (this.#dismissed.has(request.socket)) {
        request.socket.destroy();
        return;
      }
      response.shouldKeepAlive = false;
    }
    if (!this.#shortPath(request, response)) this.#stock(request, response);
  }

  #createH2(): Http2Server {
    const { log } = this.#options;
    const server = createHttp2Server(
      {
        settings: { maxConcurrentStreams: this.#limits.maxStreamsPerConnection, maxHeaderListSize: maxHeaderBytes },
        maxSendHeaderBlockLength: maxHeaderBytes,
        maxSessionMemory: this.#limits.maxConnectionMegabytes,
      },
      this.#stock,
    );
    server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("close", () => this.#sessions.delete(session));
      session.on("error", (err) => log.debug({ err }, "http2 session failed"));
    });
    // Failures of a connection outside of HTTP are the client's; without a listener they would end the process.
    server.on("sessionError", (err) => log.debug({ err }, "http2 session failed"));
    return server;
  }

  #createNet(): Server {
    const { log } = this.#options;
    const socketOptions = { noDelay: true, keepAlive: true };
    const accept = (socket: Socket) => this.#accept(socket);
    const net = this.#tls
      ? listenSecurely(this.#tls, socketOptions, this.#limits, log).on("secureConnection", accept)
      : createServer({ ...socketOptions, allowHalfOpen: true }, accept);
    net.on("connection", (socket: Socket) => {
      if (!this.#tls) return;
      this.#raw.add(socket);
      socket.once("close", () => this.#raw.delete(socket));
    });
    net.maxConnections = this.#limits.maxConnections;
    net.on("drop", () => log.warn({ maxConnections: net.maxConnections }, "rpc connection refused: too many"));
    return net;
  }

  #accept(socket: Socket): void {
    this.#taken += 1;
    this.#sockets.add(socket);
    openConnections.set(this.#sockets.size);
    socket.on("close", () => {
      this.#sockets.delete(socket);
      this.#undecided.delete(socket);
      this.#h1Sockets.delete(socket);
      openConnections.set(this.#sockets.size);
    });
    if (this.#leaving) {
      socket.on("error", () => socket.destroy());
      this.#dismiss(socket);
      socket.resume();
    } else if (socket instanceof TLSSocket) this.#serve(socket, socket.alpnProtocol === "h2" ? "http2" : "http1");
    else {
      this.#undecided.add(socket);
      sniff(socket, this.#limits.firstBytesMs, (protocol) => {
        this.#undecided.delete(socket);
        this.#serve(socket, protocol);
        // Sniffing paused it. An http2 session reads what was put back by itself, http1 waits for it to flow.
        if (protocol === "http1") socket.resume();
      });
    }
  }

  #serve(socket: Socket, protocol: "http1" | "http2"): void {
    if (protocol === "http2") {
      // http1 ends its side when the client did; http2 leaves that to the socket.
      socket.allowHalfOpen = false;
      this.#h2.emit("connection", socket);
    } else {
      this.#h1Sockets.add(socket);
      this.#h1.emit("connection", socket);
    }
  }

  #dismiss(socket: Socket): void {
    if (this.#dismissed.has(socket)) return;
    this.#dismissed.add(socket);
    socket.end(notRead);
  }

  /**
   * A closed connection alone would leave a client that writes this moment in doubt whether its call was carried out.
   */
  #dismissIdle(): void {
    for (const socket of this.#h1Sockets) if (!isAnswering(socket)) this.#dismiss(socket);
  }

  async #drainOnce(): Promise<void> {
    const { drainDelayMs, graceMs } = this.#options;
    this.#draining = true;
    this.#health.drain();
    if (drainDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, drainDelayMs));
    this.#health.close();
    this.#leaving = true;
    for (const session of this.#sessions) session.close();
    for (const socket of this.#undecided) this.#dismiss(socket);
    this.#dismissIdle();
    // Calls that began before the drain leave connections that are idle only now.
    const sweep = setInterval(() => this.#dismissIdle(), 50);
    await this.#untilNobodyComes();
    const closed = new Promise<void>((resolve) => this.#net.close(() => resolve()));
    const abort = setTimeout(() => {
      for (const session of this.#sessions) session.destroy();
      for (const socket of [...this.#sockets, ...this.#raw]) socket.destroy();
    }, graceMs);
    await closed;
    clearTimeout(abort);
    clearInterval(sweep);
    // Ends the timers that "listening" started; it never listened, so there is nothing to wait for.
    this.#h1.close();
  }

  /**
   * The kernel accepts connections before us, and resets them with the listener, requests included: late clients are
   * dismissed first.
   */
  async #untilNobodyComes(): Promise<void> {
    const endsMs = performance.now() + lateMs;
    for (let before = -1; before < this.#taken && performance.now() < endsMs; ) {
      before = this.#taken;
      await new Promise((resolve) => setTimeout(resolve, quietMs));
    }
  }
}

/**
 * A server that refuses clients without a certificate of our authority, and uses new files with the next connection.
 */
function listenSecurely(tls: TlsFiles, socketOptions: object, limits: PortLimits, log: Logger) {
  let version = tls.version();
  const server = createTlsServer({
    ...socketOptions,
    ...tls.material(),
    requestCert: true,
    rejectUnauthorized: true,
    ALPNProtocols: ["h2", "http/1.1"],
    handshakeTimeout: limits.firstBytesMs,
  });
  server.prependListener("connection", () => {
    if (tls.version() === version) return;
    version = tls.version();
    server.setSecureContext(tls.material());
  });
  server.on("tlsClientError", (err, socket) => {
    tlsRejected.inc();
    log.warn({ err, address: socket.remoteAddress }, "rpc connection refused: no TLS with a certificate of ours");
    socket.destroy();
  });
  return server;
}

/** Idle time without a new connection before the listener is closed, and the longest wait for it, in ms. */
const quietMs = 50;
const lateMs = 1_000;

/** "408 Request Timeout" says that no request was read, so that any may be repeated (RFC 9110, 15.5.9). */
const notRead = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/** Whether node:http has a response in flight on this connection. */
const isAnswering = (socket: Socket) => "_httpMessage" in socket && Boolean(socket._httpMessage);
