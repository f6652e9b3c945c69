import type { LookupFunction, Socket } from "node:net";
import { withoutTrailing } from "@muster/kit";
import { buildConnector, Pool } from "@muster/kit/undici";
import type { buildConnector as Connector } from "undici";
import { parseAddress } from "./address.ts";
import { type ForwardProxy, openTunnel } from "./forward-proxy.ts";
import { EgressRefused } from "./refused.ts";
import type { Resolver } from "./resolver.ts";
import { tolerate } from "./tolerant-parser.ts";
import type { Target } from "./validate-url.ts";
import type { AddressCheck } from "./verdict.ts";

/** Connections to one origin. */
export type OriginPool = {
  pool: Pool;
  /** Connections opened so far, and where the last one went. */
  connects: number;
  remoteAddress: string | null;
};

export type Pools = {
  /** `ca`: PEM of the authority that certificates must come from instead of the system's. */
  to(target: Target, ca?: string): OriginPool;
  close(): Promise<void>;
  origins(): number;
};

export type PoolOptions = {
  resolver: Resolver;
  /** Most to one origin; null: as many as there are requests in flight. */
  connections: number | null;
  maxOrigins: number;
  connectTimeoutMs: number;
  ca: string | undefined;
  isPermitted: AddressCheck;
  /** Where connections go through; null: they go directly. */
  proxy: ForwardProxy | null;
};

/**
 * One pool per origin; beyond the maximum the least recently used idle one is closed. A connection goes to the address
 * that was checked, and its peer is checked again once connected.
 */
export function openPools(options: PoolOptions): Pools {
  const { resolver, connections, maxOrigins, connectTimeoutMs, isPermitted, proxy } = options;
  const pools = new Map<string, OriginPool>();

  const open = (target: Target, ca: string | undefined): OriginPool => {
    const { origin, pinned } = target;
    const connect = buildConnector({
      timeout: connectTimeoutMs,
      allowH2: false,
      minVersion: "TLSv1.2",
      rejectUnauthorized: true,
      ...(ca === undefined ? {} : { ca }),
      lookup: pinned === null ? checkedLookup(resolver) : pinnedLookup(pinned),
    });
    const pool = new Pool(origin, {
      connections,
      pipelining: 1,
      keepAliveTimeout: 30_000,
      keepAliveMaxTimeout: 60_000,
      // The sender of a request enforces its total deadline: idle timeouts do not limit a slow drip.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: 65_536,
      connect: (options, callback) => {
        const connected = (socket: Socket, address: string) => {
          // An alert of TLS 1.3 comes after the handshake, right before the end, which would hide it.
          socket.once("error", (alert) => socket.destroy(alert));
          entry.connects += 1;
          entry.remoteAddress = address;
          callback(null, socket);
        };
        if (proxy) return tunnel(proxy, { target, resolver, connectTimeoutMs }, connect, options, callback, connected);
        return connect(options, (...result) => {
          const [error, socket] = result;
          if (error !== null || !socket) return callback(...result);
          const address = socket.remoteAddress ?? "";
          const bytes = parseAddress(address);
          if (pinned === null && !(bytes && isPermitted(bytes))) {
            socket.destroy();
            return callback(new EgressRefused("address_not_public"), null);
          }
          return connected(socket, address);
        });
      },
    });
    const entry: OriginPool = { pool, connects: 0, remoteAddress: null };
    tolerate(pool);
    return entry;
  };

  return {
    to(target, ca = options.ca) {
      const key = `${target.origin} ${target.pinned ?? ""} ${ca ?? ""}`;
      const pool = pools.get(key) ?? open(target, ca);
      pools.delete(key);
      pools.set(key, pool);
      if (pools.size > maxOrigins) closeIdle(pools);
      return pool;
    },
    async close() {
      await Promise.all([...pools.values()].map(({ pool }) => pool.destroy()));
      pools.clear();
    },
    origins: () => pools.size,
  };
}

type Tunnelled = { target: Target; resolver: Resolver; connectTimeoutMs: number };

/** Connects through a proxy, to the checked address of the target; TLS is spoken with the receiver itself. */
function tunnel(
  proxy: ForwardProxy,
  { target: { url, host, literal, pinned }, resolver, connectTimeoutMs }: Tunnelled,
  connect: Connector.connector,
  options: Connector.Options,
  callback: Connector.Callback,
  connected: (socket: Socket, address: string) => void,
): void {
  const isTls = url.protocol === "https:";
  const addresses = pinned === null && !literal ? resolver.resolve(host) : Promise.resolve([pinned ?? host]);
  const through = ([address = ""]: string[]) => {
    const to = { address, port: Number(url.port || (isTls ? 443 : 80)) };
    openTunnel(proxy, to, connectTimeoutMs, (failed, socket) => {
      if (failed || !socket) return callback(failed ?? new Error("no tunnel"), null);
      if (!isTls) return connected(socket, address);
      connect({ ...options, httpSocket: socket }, (...result) => {
        const [error, secured] = result;
        if (error !== null || !secured) return callback(...result);
        connected(secured, address);
      });
    });
  };
  addresses.then(through, (error: Error) => callback(error, null));
}

function closeIdle(pools: Map<string, OriginPool>): void {
  for (const [key, { pool }] of pools) {
    const { running, pending, queued } = pool.stats;
    if (running + pending + queued > 0) continue;
    pools.delete(key);
    // No request is in flight there: only idle sockets end.
    pool.close().catch(() => undefined);
    return;
  }
}

type LookupCallback = Parameters<LookupFunction>[2];

/** Resolves names to permitted addresses, for connections. */
export function checkedLookup(resolver: Resolver): LookupFunction {
  return (hostname, options, callback) => {
    resolver.resolve(withoutTrailing(hostname.toLowerCase(), ".")).then(
      (addresses) => answer(addresses, options.all ?? false, callback),
      (error: Error) => callback(error, ""),
    );
  };
}

/** Resolves every name to one address. */
export function pinnedLookup(address: string): LookupFunction {
  return (_hostname, options, callback) => answer([address], options.all ?? false, callback);
}

function answer(addresses: readonly string[], all: boolean, callback: LookupCallback): void {
  const found = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  const [first] = found;
  if (all) callback(null, found);
  else callback(null, first?.address ?? "", first?.family);
}
