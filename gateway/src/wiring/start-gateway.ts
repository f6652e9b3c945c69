import { type Logger, type Readiness, sharedValues } from "@muster/kit";
import type { Signer } from "@muster/rpc";
import { createRefusals, refusalReporter } from "../auth/refusals.ts";
import type { ChannelHub } from "../channel/hub.ts";
import { acceptChannels } from "../channel/upgrade.ts";
import { type ChangeFeed, createChangeFeed } from "../clients/device-change-feed.ts";
import { ownCall } from "../clients/own-calls.ts";
import { createServices } from "../clients/services.ts";
import { compareSharedSettings, differencesText } from "../clients/shared-settings.ts";
import { createUpdateAnswers } from "../clients/update-answers.ts";
import { type Config, configSchema } from "../config.ts";
import { createScimRefusals } from "../http/refused-scim.ts";
import { buildRouteTable } from "../http/route-table.ts";
import { createGateway, type GatewayTimeouts } from "../http/server.ts";
import { createHeaderReader } from "../request/headers.ts";
import type { Route } from "../route/route.ts";
import { agentChannel } from "../routes/devices/agent-logs.ts";
import { routes as allRoutes } from "../routes/index.ts";
import { type Admission, startAdmission } from "./admission.ts";
import { createPages } from "./all-pages.ts";
import { createDeps } from "./handler-deps.ts";
import { createLimits } from "./limits.ts";
import { createTransports } from "./transports.ts";

export type App = Pick<Admission, "sessions" | "apiKeys" | "agents" | "changes" | "loadRevoked"> & {
  port: number;
  channels: Pick<ChannelHub, "attach" | "size">;
  feed: Pick<ChangeFeed, "attach">;
  /** "ok", or the settings that differ between this gateway and the services. */
  sharedSettings(): string;
  /** Ends requests in flight within DRAIN_GRACE_MS, then the connections to the services. */
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

/** Everything of the gateway but its process and the message bus: listens when it resolves. */
export async function startGateway(options: AppOptions): Promise<App> {
  const { config, version, signer, readiness, log, routes = allRoutes } = options;
  const transports = createTransports(config, signer);
  const services = createServices(transports);
  const admission = startAdmission({ config, services, signer, log });
  const { stop: stopLimits, ...limits } = createLimits(config, admission.rates);
  const updates = createUpdateAnswers({
    updates: services.decisions,
    call: ownCall,
    max: config.AGENT_CACHE_MAX,
    log,
  });
  const own = sharedValues(configSchema.shape, config);
  const shared = compareSharedSettings({ own, probes: services.probes, call: ownCall, log });
  const feed = createChangeFeed(log);
  const { channels, authenticate, directories, accessRules, clientAddress } = admission;
  const draining = () => readiness.state === "draining";
  const edgeAddressHeader = config.EDGE_CLIENT_ADDRESS_HEADER ?? null;
  const checks = { authenticate, accessRules, clientAddress, ...limits, now: Date.now, draining, log };
  const gateway = createGateway({
    ...checks,
    routes,
    deps: createDeps({ config, version, routes, services, admission, updates, changes: feed, shared }),
    noteRefusal: createRefusals({ refusals: services.refusals, log }),
    noteScimRefusal: createScimRefusals(services.scim, refusalReporter({ log })),
    watches: admission.watches,
    rates: admission.rates,
    directories,
    sessionRateLimit: config.SESSION_RATE_LIMIT,
    directoryRateLimit: config.DIRECTORY_RATE_LIMIT,
    pages: createPages({ config, services, log }),
    corsOrigins: config.CORS_ORIGINS,
    edgeAddressHeader,
    timeouts: timeoutsOf(config),
    connectionsMax: config.CONNECTIONS_MAX,
    validateReplies: config.NODE_ENV === "test",
  });
  acceptChannels(gateway.server, {
    ...checks,
    row: agentChannel,
    hub: channels,
    hasLease: admission.hasLease,
    newestRequests: gateway.newestRequests,
    find: buildRouteTable(routes),
    readHeaders: createHeaderReader(edgeAddressHeader),
  });
  return {
    ...admission,
    feed,
    sharedSettings: () => differencesText(shared.differences()),
    port: await gateway.listen(config.PORT, config.HOST),
    async close() {
      // Channels are connections of the server, so the server closes only after the last agent has disconnected.
      await Promise.all([gateway.close(config.DRAIN_GRACE_MS), channels.drain(config.CHANNEL_RECONNECT_SPREAD_MS)]);
      stopLimits();
      await updates.stop();
      await shared.stop();
      await admission.stop();
      await Promise.all(Object.values(transports).map((transport) => transport.close()));
    },
  };
}

const timeoutsOf = (config: Config): GatewayTimeouts => ({
  headersMs: config.HEADERS_TIMEOUT_MS,
  requestMs: config.REQUEST_TIMEOUT_MS,
  keepAliveMs: config.KEEP_ALIVE_TIMEOUT_MS,
  stalledMs: config.REPLY_STALL_TIMEOUT_MS,
  checkMs: Math.min(1_000, config.HEADERS_TIMEOUT_MS),
});
