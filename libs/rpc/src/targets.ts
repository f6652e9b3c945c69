import { Client, type Dispatcher, Pool } from "undici";
import { maxHeaderBytes } from "./limits.ts";

/** How long a server that refused is passed over, when there are others. */
const shunMs = 1_000;
const connectMs = 2_000;

const clientOptions = {
  pipelining: 1,
  // Deadlines are the call's own; these would cost a timer per request.
  headersTimeout: 0,
  bodyTimeout: 0,
  maxHeaderSize: maxHeaderBytes,
  // Shorter than the port's: an idle connection is closed from this side, where nothing can be lost.
  keepAliveTimeout: 30_000,
  connect: { timeout: connectMs, noDelay: true },
} as const;

export type Target = { url: URL; pool: Pool; shunnedUntilMs: number };

export type Targets = {
  /** The next server in turn that has not just refused. */
  next(): Target;
  shun(target: Target): void;
  /** Dispatches on a connection that nobody has used, and closes it afterwards. */
  dispatchFresh(target: Target, options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
  close(): Promise<void>;
};

export function createTargets(baseUrls: readonly string[], connections: number, clientTtlMs: number): Targets {
  if (baseUrls.length === 0) throw new Error("No base URL is given");
  const targets: Target[] = baseUrls.map((baseUrl) => {
    const url = new URL(baseUrl);
    if (url.protocol !== "http:" || url.pathname !== "/") throw new Error(`Not a base URL of a service: ${baseUrl}`);
    // Jitter: pools of many processes must not renew their connections in step.
    const clientTtl = Math.round(clientTtlMs * (0.8 + Math.random() * 0.4));
    return { url, pool: new Pool(url.origin, { ...clientOptions, connections, clientTtl }), shunnedUntilMs: 0 };
  });
  let turn = Math.floor(Math.random() * targets.length);
  const fresh = new Set<Client>();

  return {
    next() {
      const nowMs = targets.length > 1 ? performance.now() : 0;
      for (let tried = 0; ; tried++) {
        turn = turn + 1 < targets.length ? turn + 1 : 0;
        const target = targets[turn] as Target;
        if (target.shunnedUntilMs <= nowMs || tried === targets.length) return target;
      }
    },
    shun(target) {
      target.shunnedUntilMs = performance.now() + shunMs;
    },
    dispatchFresh(target, options, handler) {
      const client = new Client(target.url.origin, clientOptions);
      fresh.add(client);
      client.dispatch(options, handler);
      // Closing waits for the request that was just dispatched.
      client.close().then(
        () => fresh.delete(client),
        () => fresh.delete(client),
      );
    },
    async close() {
      await Promise.all([
        ...targets.map(({ pool }) => pool.destroy()),
        ...[...fresh].map((client) => client.destroy()),
      ]);
    },
  };
}
