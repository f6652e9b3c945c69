import { type Logger, publicAddresses, uuidv7 } from "@muster/kit";
import type { Signer } from "@muster/rpc";
import { createAccessTokens } from "../auth/access-token.ts";
import { type AuthChanges, createAuthChanges } from "../auth/auth-changes.ts";
import { type AccessRules, type Authenticate, checkAccess, createAuthenticate } from "../auth/authenticate.ts";
import { createEdgeClient } from "../auth/edge-client.ts";
import { createKeySet, type KeySet } from "../auth/key-set.ts";
import { startLease } from "../auth/lease.ts";
import { createRateLimiter, type RateLimiter } from "../auth/rate-limit.ts";
import { createWatches, type Watches } from "../auth/watches.ts";
import { type ChannelHub, createChannelHub } from "../channel/hub.ts";
import { recheckedAgents } from "../channel/rechecked-agents.ts";
import { ownCall, rethrow } from "../clients/own-calls.ts";
import type { Services } from "../clients/services.ts";
import type { Config } from "../config.ts";
import { type ClientAddressRule, clientAddressRule } from "../request/client-address.ts";
import { agentChannel } from "../routes/devices/agent-logs.ts";
import { type Caches, createCaches } from "./caches.ts";

export type Admission = Caches &
  Entrance & {
    /** Public keys of access tokens. */
    keys: KeySet;
    rates: RateLimiter;
    channels: ChannelHub;
    /** Replies that end with the admission of their caller. */
    watches: Watches;
    /** Whether identity holds back a revocation until this gateway has applied it. */
    hasLease(): boolean;
    changes: AuthChanges;
    /** Refuses the sessions that identity revoked lately, whatever the caches hold. */
    loadRevoked(): Promise<void>;
    /** Settles used grants and returns the lease; identity may already be unavailable. */
    stop(): Promise<void>;
  };

type Entrance = { accessRules: AccessRules; clientAddress: ClientAddressRule; authenticate: Authenticate };

/** Milliseconds for the public keys of access tokens. */
const keysTimeoutMs = 2_000;

/** Admission state: identity's answers about credentials, kept current by identity's heartbeats and change events. */
export function startAdmission(options: {
  config: Config;
  services: Services;
  signer: Signer;
  log: Logger;
}): Admission {
  const { config, services, signer, log } = options;
  const { agentTokens } = services;
  const edge = createEdgeClient({ gatewayId: uuidv7(), edge: services.edge, agentTokens, call: ownCall, rethrow });
  const load = async () => (await services.admission.getJwks({}, await ownCall(keysTimeoutMs)).catch(rethrow)).jwksJson;
  const keys = createKeySet({ load, log });
  // Nothing is cached beyond a second until the first heartbeat is answered.
  const lease = startLease({
    heartbeat: edge.heartbeat,
    apply(heartbeat) {
      if (heartbeat.tooMany) changes.dropAll();
      changes.take(heartbeat.changes);
    },
    leave: edge.leave,
    // A long reply ends before the call that ends its caller is answered.
    mayIdle: () => channels.size === 0 && watches.size === 0,
    onLost() {
      if (channels.size + watches.size > 0) log.warn("lease at identity lost: streams and agents' channels are ended");
      watches.endAll();
      channels.closeAll();
    },
    log,
  });
  const watches = createWatches({ log });
  const caches = createCaches({ config, services, edge, lease, signer, watches, log });
  const { sessions, apiKeys, agents, portals } = caches;
  const rates = createRateLimiter({ reserve: edge.reserve, settle: edge.settle, log });
  const entrance = createEntrance(config, keys, caches);
  const channels = createChannelHub({
    async admit(digest) {
      const agent = await agents.get(digest);
      checkAccess(agentChannel.access, agent, entrance.accessRules, Date.now);
      return agent;
    },
    log,
  });
  const { acknowledge } = edge;
  const checked = recheckedAgents(agents, channels);
  const changes = createAuthChanges({ sessions, keys: apiKeys, agents: checked, portals, rates, acknowledge, log });
  // Loaded before the first request when identity is available; otherwise the first token triggers the load.
  keys.current().catch((err: unknown) => log.info({ err }, "access token keys not loaded yet"));

  return {
    ...caches,
    ...entrance,
    keys,
    rates,
    channels,
    watches,
    hasLease: lease.isHeld,
    changes,
    async loadRevoked() {
      for (const sessionId of await edge.revokedSessions()) sessions.revoked(sessionId);
    },
    async stop() {
      watches.close();
      await keys.close();
      // Without identity the lease and the unspent grants expire.
      const goodbye = (err: unknown) => log.info({ err }, "stop of this gateway not reported to identity");
      await rates.stop().catch(goodbye);
      await lease.stop().catch(goodbye);
    },
  };
}

function createEntrance(config: Config, keys: KeySet, { sessions, apiKeys, agents, portals }: Caches): Entrance {
  const accessRules = {
    mfaMaxAgeMs: config.MFA_MAX_AGE_MINUTES * 60_000,
    mfaEnrollUrl: `${publicAddresses(config).publicUrl}/profile`,
  };
  const clientAddress = clientAddressRule({
    trustHeaders: config.TRUST_PROXY_HEADERS,
    trustedCidrs: config.TRUSTED_PROXY_CIDRS,
  });
  const tokens = createAccessTokens({ keys, max: config.SESSION_CACHE_MAX });
  const authenticate = createAuthenticate({ tokens, sessions, keys: apiKeys, agents, portals, clientAddress });
  return { accessRules, clientAddress, authenticate };
}
