import { type Exceptions, noExceptions } from "./exceptions.ts";
import { type Exchange, type ExchangeRequest, exchange } from "./exchange.ts";
import type { Failure } from "./failure.ts";
import type { ForwardProxy } from "./forward-proxy.ts";
import { openPools } from "./pools.ts";
import { createResolver, type Resolver } from "./resolver.ts";
import { sendSyslog } from "./syslog.ts";
import { type Target, validateUrl } from "./validate-url.ts";
import { type AddressCheck, isPublic } from "./verdict.ts";

/**
 * How each part of the product goes out: redirects followed, bytes of an answer, milliseconds, connections to one
 * origin. Webhooks and identity providers have one for each request: a request that waited for another tenant's
 * connection to the same host would time out behind one that hangs. The dispatcher limits webhooks by organization and
 * host, the gateway the calls that lead to an identity provider by tenant.
 */
export const profiles = {
  sso: { redirects: 0, maxBytes: 256 * 1024, timeoutMs: 5_000, connections: null },
  webhook: { redirects: 0, maxBytes: 4 * 1024, timeoutMs: 30_000, connections: null },
  release: { redirects: 3, maxBytes: 1024 * 1024 * 1024, timeoutMs: 30_000, connections: 4 },
} as const;

export type ProfileName = keyof typeof profiles;

export type EgressOptions = {
  profile: ProfileName;
  exceptions?: Exceptions;
  resolver?: Resolver;
  maxOrigins?: number;
  /** PEM of the authority that certificates must come from instead of the system's; for tests. */
  ca?: string;
  /** Which addresses may be reached; public ones when absent. */
  isPermitted?: AddressCheck;
  /** Where requests go through; syslog goes directly. */
  proxy?: ForwardProxy | null;
};

/** Frames for a syslog receiver. */
export type SyslogFrames = { frames: Buffer; ca: string | undefined; timeoutMs: number; signal?: AbortSignal };

export type Egress = {
  profile: (typeof profiles)[ProfileName];
  /** Judges a URL and every address its name has now. Throws EgressRefused. */
  check(url: string): Promise<Target>;
  /** One request to a target that `check` returned just before; never throws. `ca` replaces the system's CAs. */
  send(target: Target, request: ExchangeRequest & { ca?: string }): Promise<Exchange>;
  /** Frames to the host and port of a target (docs/audit-streams.md#syslog): null, or what went wrong; never throws. */
  sendSyslog(target: Target, frames: SyslogFrames): Promise<Failure | null>;
  pools: ReturnType<typeof openPools>;
  close(): Promise<void>;
};

const keptUrls = 5_000;

/** Outgoing requests that reach the public internet alone, and what `isPermitted` adds to it. */
export function openEgress({
  profile,
  exceptions = noExceptions,
  resolver,
  maxOrigins = 1_024,
  ca,
  isPermitted = isPublic,
  proxy = null,
}: EgressOptions): Egress {
  const names = resolver ?? createResolver(undefined, undefined, isPermitted);
  const { connections, timeoutMs } = profiles[profile];
  const connectTimeoutMs = Math.min(10_000, timeoutMs);
  const pools = openPools({ resolver: names, connections, maxOrigins, connectTimeoutMs, ca, isPermitted, proxy });
  // The URL's text does not change; the name's addresses are resolved each time.
  const targets = new Map<string, Target>();
  const targetOf = (url: string): Target => {
    const cached = targets.get(url);
    if (cached) return cached;
    const target = validateUrl(url, exceptions, isPermitted);
    if (targets.size >= keptUrls) targets.clear();
    targets.set(url, target);
    return target;
  };
  return {
    profile: profiles[profile],
    async check(url) {
      const target = targetOf(url);
      if (!target.literal && target.pinned === null) await names.resolve(target.host);
      return target;
    },
    send: (target, request) => exchange(target, pools.to(target, request.ca), request),
    sendSyslog: (target, { ca: own = ca, ...frames }) =>
      sendSyslog({ target, resolver: names, isPermitted, ca: own, ...frames }),
    pools,
    close: () => pools.close(),
  };
}
