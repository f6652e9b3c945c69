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
  const nc = await connectForEver(options);
  const jsm = await nc.jetstreamManager({ checkAPI: false, timeout: apiTimeoutMs });
  return new ServerConnection(options, nc, jsm);
}

class ServerConnection implements Connection {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
  readonly log: Logger;
  readonly service: string;
  readonly inboxPrefix: string;
  readonly closing: AbortSignal;
  readonly problems = new Map<string, string>();
  readonly #closing = new AbortController();
  readonly #listeners = new Set<() => void>();
  readonly #waiting = new Set<() => void>();
  readonly #losing = new Set<() => void>();
  #epoch = 1;
  #lostAt: Date | null = null;

  constructor({ name, log }: BusOptions, nc: NatsConnection, jsm: JetStreamManager) {
    this.nc = nc;
    this.js = nc.jetstream({ timeout: apiTimeoutMs });
    this.jsm = jsm;
    this.log = log;
    this.service = name;
    this.inboxPrefix = `_INBOX_${name}`;
    this.closing = this.#closing.signal;
    void this.#follow();
    log.info({ server: nc.getServer(), version: nc.info?.version }, "NATS connected");
  }

  async #follow(): Promise<void> {
    for await (const status of this.nc.status()) {
      if (status.type === Events.Disconnect && !this.closing.aborted) {
        this.#lostAt ??= new Date();
        for (const lose of [...this.#losing]) lose();
        this.log.warn({ server: status.data }, "NATS connection lost");
      } else if (status.type === Events.Reconnect) {
        this.#lostAt = null;
        this.#epoch++;
        this.log.info({ server: status.data }, "NATS connection restored");
        this.#release();
        for (const listener of [...this.#listeners]) listener();
      } else if (status.type === Events.Error) {
        this.log.error({ code: status.data, permission: status.permissionContext }, "NATS refused an operation");
      }
    }
  }

  #release(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  readonly epoch = (): number => {
    return this.#epoch;
  };

  readonly connected = (): boolean => {
    return this.#lostAt === null && !this.nc.isClosed();
  };

  readonly whenConnected = (): Promise<void> => {
    if (this.#lostAt === null || this.closing.aborted) return Promise.resolve();
    return new Promise<void>((resolve) => this.#waiting.add(resolve));
  };

  readonly untilLost = async <T>(work: Promise<T>): Promise<T> => {
    let lose: () => void = () => {};
    const lost = new Promise<never>((_, reject) => {
      lose = () => reject(new AppError("unavailable", "the connection to NATS was lost", { retryAfterSeconds: 1 }));
    });
    this.#losing.add(lose);
    return await Promise.race([work, lost]).finally(() => this.#losing.delete(lose));
  };

  readonly onReconnect = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly check = async (): Promise<string> => {
    if (this.closing.aborted) return "closed";
    if (this.nc.isClosed()) return "the connection ended and will not come back";
    if (this.#lostAt) return `not connected since ${this.#lostAt.toISOString()}`;
    try {
      await this.nc.request("$JS.API.INFO", undefined, { timeout: 2_000 });
    } catch (error) {
      return `JetStream does not answer: ${describe(error)}`;
    }
    return this.problems.size === 0 ? "ok" : [...this.problems.values()].join("; ");
  };

  readonly close = async (): Promise<void> => {
    this.#closing.abort();
    this.#release();
    // Draining needs a server; without one there is nothing that could still be delivered.
    await (this.#lostAt ? this.nc.close() : this.nc.drain());
  };
}

/** Throws at once when there is no connection: a request would only wait in a buffer until it times out. */
export function assertConnected(connection: Connection): void {
  if (!connection.connected()) throw new AppError("unavailable", "NATS is not connected", { retryAfterSeconds: 1 });
}
