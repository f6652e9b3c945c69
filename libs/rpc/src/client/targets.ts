import type { TlsFiles } from "@muster/kit";
import { Client, Pool } from "@muster/kit/undici";
import type { Dispatcher } from "undici";
import { maxHeaderBytes } from "../protocol/limits.ts";
import { assertScheme } from "../protocol/tls.ts";

/** How long a server that refused is passed over, when there are others. */
const shunMs = 1_000;
/** Time for which a draining server is avoided: longer than it keeps listening. */
const leaveMs = 2_000;
const connectMs = 2_000;

const noOrigins: readonly string[] = [];

const clientOptions = {
  pipelining: 1,
  // Deadlines are the call's own; these would cost a timer per request.
  headersTimeout: 0,
  bodyTimeout: 0,
  maxHeaderSize: maxHeaderBytes,
  // Shorter than the port's: an idle connection is closed from this side, where nothing can be lost.
  keepAliveTimeout: 30_000,
} as const;

/** Certificates as they are now: a pool is renewed twice a minute, and takes new ones then. */
const connectOptions = (tls: TlsFiles | null) => ({
  timeout: connectMs,
  noDelay: true,
  ...(tls ? { secureContext: tls.context() } : {}),
});

export type Target = { origin: string; pool: Pool; renewAtMs: number; shunnedUntilMs: number };

export type Targets = {
  /**
   * The next server in turn that has not just refused; if all have, the one of longest ago. Not one of `tried` while
   * there are others.
   */
  next(tried?: readonly string[]): Target;
  shun(target: Target): void;
  /**
   * Passes over a server that answers with `Connection: close`: nothing of ours is on its connections when it closes
   * them.
   */
  leave(target: Target): void;
  /** Dispatches on a new connection that is closed afterwards. */
  dispatchFresh(target: Target, options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
  close(): Promise<void>;
};

/**
 * One pool per base URL, renewed at `clientTtlMs` ± 20 %; throws an Error for a URL that is not http://host[:port],
 * with TLS https://host[:port].
 */
export function createTargets(
  baseUrls: readonly string[],
  connections: number,
  clientTtlMs: number,
  tls: TlsFiles | null,
): Targets {
  if (baseUrls.length === 0) throw new Error("No base URL is given");
  const closing = new Set<Dispatcher>();
  const retire = (dispatcher: Client | Pool) => {
    closing.add(dispatcher);
    // Waits for the requests it still has.
    const gone = () => closing.delete(dispatcher);
    dispatcher.close().then(gone, gone);
  };
  // Jitter: the pools of many processes must not be renewed in step.
  const nextRenewal = (nowMs: number) => nowMs + clientTtlMs * (0.8 + Math.random() * 0.4);
  const openPool = (origin: string) =>
    new Pool(origin, { ...clientOptions, connect: connectOptions(tls), connections });
  const targets: Target[] = baseUrls.map((baseUrl) => {
    const url = new URL(baseUrl);
    const { protocol, pathname, origin } = url;
    if (!/^https?:$/.test(protocol) || pathname !== "/") throw new Error(`Not a base URL of a service: ${baseUrl}`);
    assertScheme(url, tls);
    return { origin, pool: openPool(origin), renewAtMs: nextRenewal(performance.now()), shunnedUntilMs: 0 };
  });
  let turn = Math.floor(Math.random() * targets.length);

  return {
    next(tried = noOrigins) {
      const nowMs = performance.now();
      let best: Target | undefined;
      for (let checked = 0; checked < targets.length; checked++) {
        turn = turn + 1 < targets.length ? turn + 1 : 0;
        const target = targets[turn];
        if (target === undefined) continue;
        if (tried.includes(target.origin) && tried.length < targets.length) continue;
        if (best === undefined || target.shunnedUntilMs < best.shunnedUntilMs) best = target;
        if (target.shunnedUntilMs <= nowMs) break;
      }
      if (best === undefined) throw new Error("No base URL is left to try");
      const target = best;
      // The pool as a whole, not undici's clientTtl: with every client too old that leaves the next request waiting for
      // a client that is only ever made by the request after it.
      if (target.renewAtMs <= nowMs) {
        retire(target.pool);
        target.pool = openPool(target.origin);
        target.renewAtMs = nextRenewal(nowMs);
      }
      return target;
    },
    shun(target) {
      target.shunnedUntilMs = performance.now() + shunMs;
    },
    leave(target) {
      target.shunnedUntilMs = performance.now() + leaveMs;
    },
    dispatchFresh(target, options, handler) {
      const client = new Client(target.origin, { ...clientOptions, connect: connectOptions(tls) });
      client.dispatch(options, handler);
      retire(client);
    },
    async close() {
      const open: Dispatcher[] = [...targets.map(({ pool }) => pool), ...closing];
      await Promise.all(open.map((dispatcher) => dispatcher.destroy()));
    },
  };
}
