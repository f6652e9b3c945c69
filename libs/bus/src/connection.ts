import { AppError, backoffMs, type Logger, sleep } from "@muster/kit";
import {
  connect,
  Events,
  type JetStreamClient,
  type JetStreamManager,
  type NatsConnection,
  nkeyAuthenticator,
  type TlsOptions,
} from "nats";
import { describe } from "./errors.ts";
import type { BusOptions, BusTls } from "./types.ts";

export type Connection = {
  nc: NatsConnection;
  js: JetStreamClient;
  jsm: JetStreamManager;
  log: Logger;
  /** The service's name: its NATS user. */
  service: string;
  /** Private to this service in the permission file: no other user can subscribe to its replies. */
  inboxPrefix: string;
  /** Aborted when the bus closes. */
  closing: AbortSignal;
  /** Rises with every reconnect; what the server reported in an earlier epoch may be outdated. */
  epoch(): number;
  connected(): boolean;
  /** Resolves when connected, or when the bus closes. */
  whenConnected(): Promise<void>;
  /** The work's result, or AppError `unavailable` as soon as the connection is lost; an answer would never come. */
  untilLost<T>(work: Promise<T>): Promise<T>;
  onReconnect(listener: () => void): () => void;
  /** Present failures by part; reported by `check()`. */
  problems: Map<string, string>;
  check(): Promise<string>;
  close(): Promise<void>;
};

const apiTimeoutMs = 5_000;

async function connectForEver(options: BusOptions): Promise<NatsConnection> {
  const servers = options.servers.split(",").map((server) => server.trim());
  for (let attempt = 0; ; attempt++) {
    try {
      return await connect({
        servers,
        name: options.name,
        inboxPrefix: `_INBOX_${options.name}`,
        authenticator: nkeyAuthenticator(new TextEncoder().encode(options.seed)),
        maxReconnectAttempts: -1,
        // Two refusals in a row would close the connection for ever, while a key that is being rotated is soon
        // accepted.
        ignoreAuthErrorAbort: true,
        reconnectTimeWait: 250,
        reconnectJitter: 100,
        pingInterval: 10_000,
        maxPingOut: 2,
        ...tlsOf(servers, options.tls),
      });
    } catch (err) {
      if (options.signal?.aborted) throw new AppError("unavailable", `NATS: ${describe(err)}`);
      const delayMs = Math.round(backoffMs(attempt, 250, 5_000));
      options.log.warn({ servers, reason: describe(err), delayMs }, "NATS is not reachable, trying again");
      await sleep(delayMs);
    }
  }
}

/**
 * The library reads the files for each connection, so that new certificates need no restart. Used for a `tls://`
 * address or by any file: a server without TLS is refused then. `nats://` alone takes TLS where the server offers it.
 */
function tlsOf(servers: readonly string[], tls: BusTls = {}): { tls?: TlsOptions } {
  const { ca, cert, key } = tls;
  if (!ca && !cert && !servers.some((server) => server.startsWith("tls://"))) return {};
  return {
    tls: { ...(ca ? { caFile: ca } : {}), ...(cert ? { certFile: cert } : {}), ...(key ? { keyFile: key } : {}) },
  };
}

/** Connects, however long it takes, and stays connected until closed. */
export async function openConnection(options: BusOptions): Promise<Connection> {
  const { log } = options;
  const nc = await connectForEver(options);
  const closing = new AbortController();
  const listeners = new Set<() => void>();
  const problems = new Map<string, string>();
  let epoch = 1;
  let lostAt: Date | null = null;
  const waiting = new Set<() => void>();
  const losing = new Set<() => void>();
  const release = () => {
    for (const resolve of waiting) resolve();
    waiting.clear();
  };

  const follow = async () => {
    for await (const status of nc.status()) {
      if (status.type === Events.Disconnect && !closing.signal.aborted) {
        lostAt ??= new Date();
        for (const lose of [...losing]) lose();
        log.warn({ server: status.data }, "NATS connection lost");
      } else if (status.type === Events.Reconnect) {
        lostAt = null;
        epoch++;
        log.info({ server: status.data }, "NATS connection restored");
        release();
        for (const listener of [...listeners]) listener();
      } else if (status.type === Events.Error) {
        log.error({ code: status.data, permission: status.permissionContext }, "NATS refused an operation");
      }
    }
  };
  void follow();
  log.info({ server: nc.getServer(), version: nc.info?.version }, "NATS connected");

  const check = async (): Promise<string> => {
    if (closing.signal.aborted) return "closed";
    if (nc.isClosed()) return "the connection ended and will not come back";
    if (lostAt) return `not connected since ${lostAt.toISOString()}`;
    try {
      await nc.request("$JS.API.INFO", undefined, { timeout: 2_000 });
    } catch (error) {
      return `JetStream does not answer: ${describe(error)}`;
    }
    return problems.size === 0 ? "ok" : [...problems.values()].join("; ");
  };

  return {
    nc,
    js: nc.jetstream({ timeout: apiTimeoutMs }),
    jsm: await nc.jetstreamManager({ checkAPI: false, timeout: apiTimeoutMs }),
    log,
    service: options.name,
    inboxPrefix: `_INBOX_${options.name}`,
    closing: closing.signal,
    epoch: () => epoch,
    connected: () => lostAt === null && !nc.isClosed(),
    whenConnected: () =>
      lostAt === null || closing.signal.aborted
        ? Promise.resolve()
        : new Promise<void>((resolve) => waiting.add(resolve)),
    untilLost: async (work) => {
      let lose: () => void = () => {};
      const lost = new Promise<never>((_, reject) => {
        lose = () => reject(new AppError("unavailable", "the connection to NATS was lost", { retryAfterSeconds: 1 }));
      });
      losing.add(lose);
      return await Promise.race([work, lost]).finally(() => losing.delete(lose));
    },
    onReconnect: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    problems,
    check,
    close: async () => {
      closing.abort();
      release();
      // Draining needs a server; without one there is nothing that could still be delivered.
      await (lostAt ? nc.close() : nc.drain());
    },
  };
}

/** Throws at once when there is no connection: a request would only wait in a buffer until it times out. */
export function assertConnected(connection: Connection): void {
  if (!connection.connected()) throw new AppError("unavailable", "NATS is not connected", { retryAfterSeconds: 1 });
}
