import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Session } from "node:http2";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
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
  const { name, version, log, readiness, sharedSettings = {}, tls = processTls() } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const names = new Set([...options.services.map(({ service }) => service.typeName), ProbeService.typeName]);
  const health = createHealth(readiness, names);
  let draining = false;
  const routes = guardedRoutes(
    [
      ...options.services,
      register(ProbeService, createProbe({ name, version, readiness, sharedSettings })),
      register(Health, health.impl),
    ],
    { verifier: options.verifier, log, stopping: () => draining || readiness.state === "draining" },
  );
  const shortPath = createShortPath(routes.unary, limits);
  const stock = stockOnDemand(routes, limits, log);
  let leaving = false;
  let taken = 0;
  const dismissed = new WeakSet<Socket>();
  const dismiss = (socket: Socket) => {
    if (dismissed.has(socket)) return;
    dismissed.add(socket);
    socket.end(notRead);
  };

  const h1 = createHttpServer(
    {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.keepAliveMs,
      // How often the two timeouts above are checked; Node's default is 30 s.
      connectionsCheckingInterval: Math.min(1_000, limits.headersMs),
    },
    (request: IncomingMessage, response: ServerResponse) => {
      response.sendDate = false;
      if (draining) {
        // Its connection got a GOAWAY: the client repeats this request elsewhere.
        if (dismissed.has(request.socket)) {
          request.socket.destroy();
          return;
        }
        response.shouldKeepAlive = false;
      }
      if (!shortPath(request, response)) stock(request, response);
    },
  );
  // A server that never listened would start none of its timers.
  h1.emit("listening");

  const sessions = new Set<ServerHttp2Session>();
  const h2 = createHttp2Server(
    {
      settings: { maxConcurrentStreams: limits.maxStreamsPerConnection, maxHeaderListSize: maxHeaderBytes },
      maxSendHeaderBlockLength: maxHeaderBytes,
      maxSessionMemory: limits.maxConnectionMegabytes,
    },
    stock,
  );
  h2.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", (err) => log.debug({ err }, "http2 session failed"));
  });
  // Failures of a connection outside of HTTP are the client's; without a listener they would end the process.
  h2.on("sessionError", (err) => log.debug({ err }, "http2 session failed"));

  const sockets = new Set<Socket>();
  const h1Sockets = new Set<Socket>();
  const undecided = new Set<Socket>();
  const serve = (socket: Socket, protocol: "http1" | "http2") => {
    if (protocol === "http2") {
      // http1 ends its side when the client did; http2 leaves that to the socket.
      socket.allowHalfOpen = false;
      h2.emit("connection", socket);
    } else {
      h1Sockets.add(socket);
      h1.emit("connection", socket);
    }
  };
  const accept = (socket: Socket) => {
    taken += 1;
    sockets.add(socket);
    openConnections.set(sockets.size);
    socket.on("close", () => {
      sockets.delete(socket);
      undecided.delete(socket);
      h1Sockets.delete(socket);
      openConnections.set(sockets.size);
    });
    if (leaving) {
      socket.on("error", () => socket.destroy());
      dismiss(socket);
      socket.resume();
    } else if (tls) serve(socket, (socket as TLSSocket).alpnProtocol === "h2" ? "http2" : "http1");
    else {
      undecided.add(socket);
      sniff(socket, limits.firstBytesMs, (protocol) => {
        undecided.delete(socket);
        serve(socket, protocol);
        // Sniffing paused it. An http2 session reads what was put back by itself, http1 waits for it to flow.
        if (protocol === "http1") socket.resume();
      });
    }
  };
  const socketOptions = { noDelay: true, keepAlive: true };
  // Beneath TLS, and before its handshake is over.
  const raw = new Set<Socket>();
  const net = tls
    ? listenSecurely(tls, socketOptions, limits, log).on("secureConnection", accept)
    : createServer({ ...socketOptions, allowHalfOpen: true }, accept);
  net.on("connection", (socket: Socket) => {
    if (!tls) return;
    raw.add(socket);
    socket.once("close", () => raw.delete(socket));
  });
  net.maxConnections = limits.maxConnections;
  net.on("drop", () => log.warn({ maxConnections: limits.maxConnections }, "rpc connection refused: too many"));

  await new Promise<void>((resolve, reject) => {
    net.once("error", reject);
    net.listen(options.port, options.host, () => {
      net.off("error", reject);
      net.on("error", (err) => log.error({ err }, "rpc port failed"));
      resolve();
    });
  });

  /**
   * The kernel accepts connections before us, and resets them with the listener, requests included: late clients are
   * dismissed first.
   */
  const untilNobodyComes = async () => {
    const endsMs = performance.now() + lateMs;
    for (let before = -1; before < taken && performance.now() < endsMs; ) {
      before = taken;
      await new Promise((resolve) => setTimeout(resolve, quietMs));
    }
  };

  const drainOnce = async (): Promise<void> => {
    draining = true;
    health.drain();
    if (options.drainDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, options.drainDelayMs));
    health.close();
    leaving = true;
    for (const session of sessions) session.close();
    for (const socket of undecided) dismiss(socket);
    // A closed connection alone would leave a client that writes this moment in doubt whether its call was carried out.
    const dismissIdle = () => {
      for (const socket of h1Sockets) if (!isAnswering(socket)) dismiss(socket);
    };
    dismissIdle();
    // Calls that began before the drain leave connections that are idle only now.
    const sweep = setInterval(dismissIdle, 50);
    await untilNobodyComes();
    const closed = new Promise<void>((resolve) => net.close(() => resolve()));
    const abort = setTimeout(() => {
      for (const session of sessions) session.destroy();
      for (const socket of [...sockets, ...raw]) socket.destroy();
    }, options.graceMs);
    await closed;
    clearTimeout(abort);
    clearInterval(sweep);
    // Ends the timers that "listening" started; it never listened, so there is nothing to wait for.
    h1.close();
  };
  let drained: Promise<void> | undefined;

  return {
    port: (net.address() as AddressInfo).port,
    drain: () => {
      drained ??= drainOnce();
      return drained;
    },
  };
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
const isAnswering = (socket: Socket) => Boolean((socket as Socket & { _httpMessage?: unknown })._httpMessage);
