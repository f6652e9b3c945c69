import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { AuditLogService } from "@muster/proto/muster/audit/v1/log_pb";
import { ProbeService } from "@muster/proto/muster/common/v1/probe_pb";
import { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { PartnerService } from "@muster/proto/muster/tenancy/v1/partner_pb";

export const serviceNames = [
  "identity",
  "tenancy",
  "audit",
  "device-logs",
  "webhook-dispatcher",
  "agent-release",
] as const;
export type ServiceName = (typeof serviceNames)[number];

export type Services = {
  sessions: Client<typeof SessionService>;
  partners: Client<typeof PartnerService>;
  auditLogs: Client<typeof AuditLogService>;
  probes: Record<ServiceName, Client<typeof ProbeService>>;
};

/** Typed clients over one transport per service. */
export function createServices(transports: Record<ServiceName, Transport>): Services {
  const probes = serviceNames.map((name) => [name, createClient(ProbeService, transports[name])] as const);
  return {
    sessions: createClient(SessionService, transports.identity),
    partners: createClient(PartnerService, transports.tenancy),
    auditLogs: createClient(AuditLogService, transports.audit),
    probes: Object.fromEntries(probes) as Services["probes"],
  };
}
