import { type ServiceName, serviceNames } from "@muster/kit";
import { createTransport, type RpcTransport, type Signer } from "@muster/rpc";
import type { TransportName } from "../clients/services.ts";
import type { Config } from "../config.ts";

/**
 * Connections to each service: a call that waits (for acknowledgements, an identity provider, a slow search) holds one
 * meanwhile. Tenants share them, so that one whose calls are slow delays no other.
 */
const connections = 64;

/** Each live query, a call of more than 15 s, holds one for up to 30 s. */
const liveConnections = 512;

/** Pools of connections to the services; none is opened before its first call. */
export function createTransports(config: Config, signer: Signer): Record<TransportName, RpcTransport> {
  const urls: Record<ServiceName, readonly string[]> = {
    identity: config.IDENTITY_URL,
    tenancy: config.TENANCY_URL,
    audit: config.AUDIT_URL,
    "device-logs": config.DEVICE_LOGS_URL,
    "webhook-dispatcher": config.WEBHOOK_DISPATCHER_URL,
    "agent-release": config.AGENT_RELEASE_URL,
  };
  const to = (service: ServiceName, counts: { connections?: number; longConnections?: number } = {}) =>
    createTransport({ baseUrls: urls[service], callers: { service, signer }, isShared: true, ...counts });
  const entries = serviceNames.map((name) => [name, to(name, { connections })] as const);
  const transports = Object.fromEntries(entries) as Record<ServiceName, RpcTransport>;
  return {
    ...transports,
    decisions: to("agent-release", { connections: 4 }),
    downloads: to("agent-release", { connections }),
    edge: to("identity"),
    agentTokens: to("identity", { connections }),
    live: to("device-logs", { longConnections: liveConnections }),
  };
}
