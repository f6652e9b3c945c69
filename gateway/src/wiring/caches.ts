import type { Logger } from "@muster/kit";
import type { Signer } from "@muster/rpc";
import { type AgentCache, createAgentCache } from "../auth/agent-cache.ts";
import { createDirectories, type Directories } from "../auth/directory.ts";
import type { EdgeClient } from "../auth/edge-client.ts";
import { createKeyCache, type KeyCache } from "../auth/key-cache.ts";
import type { Lease } from "../auth/lease.ts";
import { createPortalCache, type PortalCache } from "../auth/portal-cache.ts";
import { createSessionCache, type SessionCache } from "../auth/session-cache.ts";
import { credentialName, type Watches } from "../auth/watches.ts";
import { ownCall, rethrow } from "../clients/own-calls.ts";
import type { Services } from "../clients/services.ts";
import type { Config } from "../config.ts";

/** Milliseconds for a session's principal. */
const resolveTimeoutMs = 2_000;

export type Caches = {
  sessions: SessionCache;
  apiKeys: KeyCache;
  agents: AgentCache;
  directories: Directories;
  portals: PortalCache;
};

export type CacheOptions = {
  config: Config;
  services: Pick<Services, "admission" | "scim" | "portalAdmission">;
  edge: Pick<EdgeClient, "resolveKey" | "resolveAgent">;
  lease: Pick<Lease, "covers" | "awake">;
  /** Its caller tokens of a credential are dropped together with the cached credential. */
  signer: Pick<Signer, "forget">;
  /** Long replies to a credential are verified when the cached credential is dropped. */
  watches: Pick<Watches, "changed">;
  log: Logger;
};

/** The credentials that this gateway caches, each kind for as long as the lease covers it. */
export function createCaches({ config, services, edge, lease, signer, watches, log }: CacheOptions): Caches {
  const sessions = createSessionCache({
    async resolve(sessionId, userId) {
      const call = await ownCall(resolveTimeoutMs);
      const { principal } = await services.admission.resolveSession({ sessionId, userId }, call).catch(rethrow);
      if (!principal) throw new Error("identity answered without a principal");
      return principal;
    },
    lease,
    max: config.SESSION_CACHE_MAX,
    onDrop(sessionId) {
      signer.forget((caller) => caller.sessionId === sessionId);
      watches.changed(credentialName("session", sessionId));
    },
    log,
  });
  const apiKeys = createKeyCache({
    resolve: edge.resolveKey,
    lease,
    max: config.KEY_CACHE_MAX,
    onDrop(keyId) {
      signer.forget((caller) => caller.keyId === keyId);
      watches.changed(credentialName("key", keyId));
    },
    log,
  });
  const agents = createAgentCache({
    resolve: edge.resolveAgent,
    lease,
    max: config.AGENT_CACHE_MAX,
    onDrop(deviceId) {
      signer.forget(({ actor }) => actor.type === "agent" && actor.id === deviceId);
      watches.changed(credentialName("agent", deviceId));
    },
    log,
  });
  const directories = createDirectories({
    resolve: async (digest, operation) =>
      services.scim.resolveDirectory({ digest, operation }, await ownCall(resolveTimeoutMs)).catch(rethrow),
    lease,
    log,
  });
  const portals = createPortalCache({
    async resolve(digest, clientAddress) {
      const call = await ownCall(resolveTimeoutMs, clientAddress);
      const { session } = await services.portalAdmission.resolvePortalSession({ digest }, call).catch(rethrow);
      if (!session) throw new Error("identity answered without a portal session");
      return session;
    },
    lease,
    onDrop(linkId) {
      signer.forget(({ portal }) => portal?.linkId === linkId);
      watches.changed(credentialName("portal", linkId));
    },
    log,
  });
  return { sessions, apiKeys, agents, directories, portals };
}
