import {
  AppError,
  type Logger,
  type Readiness,
  type ServiceName,
  serviceNames,
  systemCaller,
  uuidv7,
} from "@muster/kit";
import { callOptions, createTransport, type RpcTransport, type Signer, toAppError } from "@muster/rpc";
import { createAccessTokens } from "./auth/access-token.ts";
import { type AgentCache, createAgentCache } from "./auth/agent-cache.ts";
import { createAgentRates } from "./auth/agent-rates.ts";
import { type AuthChanges, createAuthChanges } from "./auth/auth-changes.ts";
import { checkAccess, createAuthenticate } from "./auth/authenticate.ts";
import { createEdgeClient } from "./auth/edge-client.ts";
import { createKeyCache, type KeyCache } from "./auth/key-cache.ts";
import { createKeySet } from "./auth/key-set.ts";
import { type Lease, startLease } from "./auth/lease.ts";
import { createRateLimiter } from "./auth/rate-limit.ts";
import { createRefusals } from "./auth/refusals.ts";
import { createSessionCache, type SessionCache } from "./auth/session-cache.ts";
import { createHeartbeats } from "./calls/heartbeats.ts";
import { type ChannelHub, createChannelHub } from "./channel/hub.ts";
import { acceptChannels } from "./channel/upgrade.ts";
import { appUrlOf, type Config } from "./config.ts";
import { createAddressRates } from "./http/address-rates.ts";
import { createBodies } from "./http/bodies.ts";
import { watchLoopLag } from "./http/loop-lag.ts";
import { createPacer } from "./http/pacing.ts";
import { buildRouteTable } from "./http/route-table.ts";
import { createGateway } from "./http/server.ts";
import { createShedder } from "./http/shedding.ts";
import { clientAddressRule } from "./inbound/client-address.ts";
import { createHeaderReader } from "./inbound/headers.ts";
import { openApiDocument } from "./openapi/document.ts";
import { createPages } from "./pages/all-pages.ts";
import { createHealthProbe } from "./platform/health.ts";
import type { Route } from "./route.ts";
import { agentChannel } from "./routes/agent-logs.ts";
import { routes as allRoutes } from "./routes/index.ts";
import { createServices, type TransportName } from "./services.ts";
import { createUpdateAnswers } from "./update-answers.ts";

export type App = {
  port: number;
  sessions: SessionCache;
  apiKeys: KeyCache;
  agents: AgentCache;
  changes: AuthChanges;
  channels: Pick<ChannelHub, "attach" | "size">;
  /** Refuses the sessions that identity revoked lately, whatever else is remembered. */
  loadRevoked(): Promise<void>;
  /** Ends requests under way within DRAIN_GRACE_MS, then the connections to the services. */
  close(): Promise<void>;
};

export type AppOptions = {
  config: Config;
  version: string;
  signer: Signer;
  readiness: Pick<Readiness, "state">;
  log: Logger;
  routes?: readonly Route[];
};

/** Milliseconds for what the gateway asks by itself. */
const ownTimeoutMs = 2_000;

/** Everything of the gateway but its process and the message bus: listens when it resolves. */
export async function startGateway(options: AppOptions): Promise<App> {
  const { config, version, signer, readiness, log, routes = allRoutes } = options;
  const transports = transportsOf(config, signer);
  const services = createServices(transports);
  const gatewayCaller = systemCaller("gateway");
  const ownCall = async (timeoutMs: number, clientAddress: string | null = null) => {
    const meta = { requestId: uuidv7(), clientAddress, userAgent: null, traceparent: null };
    return callOptions({ caller: gatewayCaller, meta, deadlineMs: performance.now() + timeoutMs });
  };

  const keys = createKeySet({
    load: async () => (await services.admission.getJwks({}, await ownCall(ownTimeoutMs)).catch(rethrow)).jwksJson,
    log,
  });
  const edge = createEdgeClient({ gatewayId: uuidv7(), edge: services.edge, call: ownCall, rethrow });
  // Nothing is remembered beyond a second until the first heartbeat is answered.
  const lease: Pick<Lease, "covers"> = { covers: (askedAtMs) => held.covers(askedAtMs) };
  const sessions = createSessionCache({
    async resolve(sessionId, userId) {
      const call = await ownCall(ownTimeoutMs);
      const { principal } = await services.admission.resolveSession({ sessionId, userId }, call).catch(rethrow);
      if (!principal) throw new Error("identity answered without a principal");
      return principal;
    },
    lease,
    max: config.SESSION_CACHE_MAX,
    onDrop: (sessionId) => signer.forget((caller) => caller.sessionId === sessionId),
    log,
  });
  const apiKeys = createKeyCache({
    resolve: edge.resolveKey,
    lease,
    max: config.KEY_CACHE_MAX,
    onDrop: (keyId) => signer.forget((caller) => caller.keyId === keyId),
    log,
  });
  const agents = createAgentCache({
    resolve: edge.resolveAgent,
    lease,
    max: config.AGENT_CACHE_MAX,
    onDrop: (deviceId) => signer.forget(({ actor }) => actor.type === "agent" && actor.id === deviceId),
    log,
  });
  const rates = createRateLimiter({ reserve: edge.reserve, settle: edge.settle, log });
  const accessRules = {
    mfaMaxAgeMs: config.MFA_MAX_AGE_MINUTES * 60_000,
    mfaEnrollUrl: `${config.PUBLIC_URL}/profile`,
  };
  const channels = createChannelHub({
    async admit(digest) {
      const agent = await agents.get(digest);
      checkAccess(agentChannel.access, agent, accessRules, Date.now);
      return agent;
    },
    log,
  });
  const agentsAndChannels = agentsWithChannels(agents, channels);
  const changes = createAuthChanges({
    sessions,
    keys: apiKeys,
    agents: agentsAndChannels,
    rates,
    acknowledge: edge.acknowledge,
    log,
  });
  const held = startLease({
    heartbeat: edge.heartbeat,
    apply(heartbeat) {
      if (heartbeat.tooMany) changes.dropAll();
      changes.take(heartbeat.changes);
    },
    leave: edge.leave,
    log,
  });
  const clientAddress = clientAddressRule({
    trustHeaders: config.TRUST_PROXY_HEADERS,
    trustedCidrs: config.TRUSTED_PROXY_CIDRS,
  });
  const tokens = createAccessTokens({ keys, max: config.SESSION_CACHE_MAX });
  const shedder = createShedder({
    caps: {
      interactive: config.IN_FLIGHT_MAX_INTERACTIVE,
      ingest: config.IN_FLIGHT_MAX_INGEST,
      enrollment: config.IN_FLIGHT_MAX_ENROLLMENT,
      export: config.IN_FLIGHT_MAX_EXPORT,
    },
    organizationPercent: config.IN_FLIGHT_ORGANIZATION_PERCENT,
    anonymousPercent: config.IN_FLIGHT_ANONYMOUS_PERCENT,
    agentMax: config.AGENT_IN_FLIGHT_MAX,
    lagMaxMs: config.EVENT_LOOP_LAG_MAX_MS,
  });
  const bodies = createBodies({
    max: config.BODIES_MAX,
    bytesMax: config.BODIES_MAX_BYTES,
    ownerPercent: config.IN_FLIGHT_ORGANIZATION_PERCENT,
    graceMs: config.BODY_GRACE_MS,
    minBytesPerSecond: config.BODY_MIN_BYTES_PER_SECOND,
  });
  const pacer = createPacer({
    perSecond: config.SIGN_INS_BEGUN_PER_SECOND,
    waitingMax: config.SIGN_INS_WAITING_MAX,
  });
  const lag = watchLoopLag((p99Ms) => shedder.observeLag(p99Ms));
  let openApiText: string | null = null;
  const agentRates = createAgentRates({
    rates,
    limit: config.AGENT_RATE_LIMIT,
    perMinute: config.AGENT_REQUESTS_PER_MINUTE,
    max: config.AGENT_CACHE_MAX,
  });
  const addressRates = createAddressRates({
    perMinute: { sso: config.SSO_REQUESTS_PER_MINUTE },
    max: config.ADDRESSES_REMEMBERED_MAX,
  });
  const authenticate = createAuthenticate({ tokens, sessions, keys: apiKeys, agents, clientAddress });

  const updates = createUpdateAnswers({
    updates: services.decisions,
    call: ownCall,
    max: config.AGENT_CACHE_MAX,
    log,
  });

  const gateway = createGateway({
    routes,
    deps: {
      services,
      sessions,
      publicUrl: config.PUBLIC_URL,
      appUrl: appUrlOf(config),
      heartbeats: createHeartbeats({ presence: services.presence, updates, call: ownCall, rethrow }),
      updates,
      health: createHealthProbe({ probes: services.probes, version, call: ownCall }),
      jwksText: async () => (await keys.current()).text,
      openApiText() {
        openApiText ??= JSON.stringify(openApiDocument(routes, { version }));
        return openApiText;
      },
    },
    authenticate,
    noteRefusal: createRefusals({ refusals: services.refusals, log }),
    rates,
    shedder,
    bodies,
    pacer,
    sessionRateLimit: config.SESSION_RATE_LIMIT,
    agentRates,
    addressRates,
    accessRules,
    clientAddress,
    now: Date.now,
    pages: createPages({
      config,
      logoUrl: async () =>
        (await services.ssoLogins.getLoginContext({}, await ownCall(ownTimeoutMs))).branding?.logoUrl ?? "",
      log,
    }),
    corsOrigins: config.CORS_ORIGINS,
    edgeAddressHeader: config.EDGE_CLIENT_ADDRESS_HEADER ?? null,
    timeouts: {
      headersMs: config.HEADERS_TIMEOUT_MS,
      requestMs: config.REQUEST_TIMEOUT_MS,
      keepAliveMs: config.KEEP_ALIVE_TIMEOUT_MS,
      stalledMs: config.REPLY_STALL_TIMEOUT_MS,
      checkMs: Math.min(1_000, config.HEADERS_TIMEOUT_MS),
    },
    connectionsMax: config.CONNECTIONS_MAX,
    validateReplies: config.NODE_ENV === "test",
    log,
    draining: () => readiness.state === "draining",
  });
  acceptChannels(gateway.server, {
    hub: channels,
    answers: gateway.answers,
    clientAddress,
    find: buildRouteTable(routes),
    readHeaders: createHeaderReader(config.EDGE_CLIENT_ADDRESS_HEADER ?? null),
    authenticate,
    accessRules,
    agentRates,
    shedder,
    now: Date.now,
    draining: () => readiness.state === "draining",
    log,
  });
  // Known before the first request when identity is up already; else the first token asks again.
  keys.current().catch((err: unknown) => log.info({ err }, "access token keys not there yet"));

  return {
    port: await gateway.listen(config.PORT, config.HOST),
    sessions,
    apiKeys,
    agents,
    changes,
    channels,
    async loadRevoked() {
      for (const sessionId of await edge.revokedSessions()) sessions.revoked(sessionId);
    },
    async close() {
      // Channels are connections of the server, too: it is closed when the last agent has left.
      await Promise.all([gateway.close(config.DRAIN_GRACE_MS), channels.drain(config.CHANNEL_RECONNECT_SPREAD_MS)]);
      lag.stop();
      await updates.stop();
      keys.close();
      // Identity may be gone already: then the lease runs out, and what is unspent leaves with its minute.
      const goodbye = (err: unknown) => log.info({ err }, "identity not told that this gateway stops");
      await rates.stop().catch(goodbye);
      await held.stop().catch(goodbye);
      await Promise.all(Object.values(transports).map((transport) => transport.close()));
    },
  };
}

/** Whatever makes an agent's token worth another look does so for the channel that was opened with it. */
function agentsWithChannels(agents: AgentCache, channels: ChannelHub): AgentCache {
  return {
    get: agents.get,
    changed(digests) {
      agents.changed(digests);
      channels.recheck(({ digest }) => digests.includes(digest));
    },
    forget(matches) {
      agents.forget(matches);
      channels.recheck(({ agent }) => matches(agent));
    },
    dropAll() {
      agents.dropAll();
      channels.recheck(() => true);
    },
    get size() {
      return agents.size;
    },
  };
}

/** Connections to each service: calls that wait (for acknowledgements, for a copy to catch up) keep theirs meanwhile. */
const connections = 64;

/** Each live query holds one for up to 30 s. */
const liveConnections = 512;

function transportsOf(config: Config, signer: Signer): Record<TransportName, RpcTransport> {
  const urls: Record<ServiceName, readonly string[]> = {
    identity: config.IDENTITY_URL,
    tenancy: config.TENANCY_URL,
    audit: config.AUDIT_URL,
    "device-logs": config.DEVICE_LOGS_URL,
    "webhook-dispatcher": config.WEBHOOK_DISPATCHER_URL,
    "agent-release": config.AGENT_RELEASE_URL,
  };
  const to = (service: ServiceName, connections?: number) =>
    createTransport({
      baseUrls: urls[service],
      callers: { service, signer },
      ...(connections === undefined ? {} : { connections }),
    });
  const entries = serviceNames.map((name) => [name, to(name, connections)] as const);
  const transports = Object.fromEntries(entries) as Record<ServiceName, RpcTransport>;
  return {
    ...transports,
    decisions: to("agent-release", 4),
    downloads: to("agent-release", connections),
    edge: to("identity"),
    live: to("device-logs", liveConnections),
  };
}

/** The typed error of what the gateway asks in its own name: identity refusing *us*, or being slow, is never a client's fault. */
function rethrow(thrown: unknown): never {
  const error = toAppError(thrown);
  const ours =
    error.code === "unauthenticated" || error.code === "permission_denied" || error.code === "deadline_exceeded";
  if (!ours) throw error;
  throw new AppError("unavailable", "Service is temporarily unavailable", { cause: error, retryAfterSeconds: 1 });
}
