import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { type ServiceName, serviceNames } from "@muster/kit";
import { ExportService } from "@muster/proto/muster/audit/v1/export_pb";
import { AuditLogService } from "@muster/proto/muster/audit/v1/log_pb";
import { AuditProofService } from "@muster/proto/muster/audit/v1/proof_pb";
import { ReportService } from "@muster/proto/muster/audit/v1/report_pb";
import { RetentionService } from "@muster/proto/muster/audit/v1/retention_pb";
import { StreamService } from "@muster/proto/muster/audit/v1/stream_pb";
import { ProbeService } from "@muster/proto/muster/common/v1/probe_pb";
import { LiveLogService } from "@muster/proto/muster/devicelogs/v1/live_pb";
import { DeviceLogService } from "@muster/proto/muster/devicelogs/v1/log_pb";
import { AccountService } from "@muster/proto/muster/identity/v1/account_pb";
import { AgentService } from "@muster/proto/muster/identity/v1/agent_pb";
import { ApiKeyService } from "@muster/proto/muster/identity/v1/api_key_pb";
import { BrandingService } from "@muster/proto/muster/identity/v1/branding_pb";
import { EdgeService } from "@muster/proto/muster/identity/v1/edge_pb";
import { EnrollmentKeyService } from "@muster/proto/muster/identity/v1/enrollment_key_pb";
import { MfaService } from "@muster/proto/muster/identity/v1/mfa_pb";
import { PasskeyService } from "@muster/proto/muster/identity/v1/passkey_pb";
import { RefusalService } from "@muster/proto/muster/identity/v1/refusal_pb";
import { RoleService } from "@muster/proto/muster/identity/v1/role_pb";
import { ServicePrincipalService } from "@muster/proto/muster/identity/v1/service_principal_pb";
import { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { SsoDomainService } from "@muster/proto/muster/identity/v1/sso_domain_pb";
import { SsoLinkService } from "@muster/proto/muster/identity/v1/sso_link_pb";
import { SsoLoginService } from "@muster/proto/muster/identity/v1/sso_login_pb";
import { SsoProviderService } from "@muster/proto/muster/identity/v1/sso_provider_pb";
import { UserService } from "@muster/proto/muster/identity/v1/user_pb";
import { DownloadService } from "@muster/proto/muster/release/v1/download_pb";
import { ReleaseService } from "@muster/proto/muster/release/v1/release_pb";
import { RolloutService } from "@muster/proto/muster/release/v1/rollout_pb";
import { SettingsService } from "@muster/proto/muster/release/v1/settings_pb";
import { UpdateService } from "@muster/proto/muster/release/v1/update_pb";
import { DeviceGroupService, DeviceService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { OrganizationService } from "@muster/proto/muster/tenancy/v1/organization_pb";
import { PartnerService } from "@muster/proto/muster/tenancy/v1/partner_pb";
import { PresenceService } from "@muster/proto/muster/tenancy/v1/presence_pb";
import { SiteService } from "@muster/proto/muster/tenancy/v1/site_pb";
import { DeliveryService } from "@muster/proto/muster/webhook/v1/delivery_pb";
import { EventService } from "@muster/proto/muster/webhook/v1/event_pb";
import { ReplayService } from "@muster/proto/muster/webhook/v1/replay_pb";
import { WebhookService } from "@muster/proto/muster/webhook/v1/webhook_pb";

export type Services = {
  sessions: Client<typeof SessionService>;
  /** What the gateway asks by itself to admit requests, over connections of its own: slow calls of clients never hold it up. */
  admission: Client<typeof SessionService>;
  mfa: Client<typeof MfaService>;
  passkeys: Client<typeof PasskeyService>;
  account: Client<typeof AccountService>;
  users: Client<typeof UserService>;
  roles: Client<typeof RoleService>;
  refusals: Client<typeof RefusalService>;
  ssoProviders: Client<typeof SsoProviderService>;
  ssoLogins: Client<typeof SsoLoginService>;
  ssoLinks: Client<typeof SsoLinkService>;
  ssoDomains: Client<typeof SsoDomainService>;
  branding: Client<typeof BrandingService>;
  edge: Client<typeof EdgeService>;
  apiKeys: Client<typeof ApiKeyService>;
  enrollmentKeys: Client<typeof EnrollmentKeyService>;
  servicePrincipals: Client<typeof ServicePrincipalService>;
  partners: Client<typeof PartnerService>;
  organizations: Client<typeof OrganizationService>;
  sites: Client<typeof SiteService>;
  agents: Client<typeof AgentService>;
  devices: Client<typeof DeviceService>;
  presence: Client<typeof PresenceService>;
  deviceGroups: Client<typeof DeviceGroupService>;
  auditLogs: Client<typeof AuditLogService>;
  webhooks: Client<typeof WebhookService>;
  deliveries: Client<typeof DeliveryService>;
  events: Client<typeof EventService>;
  replays: Client<typeof ReplayService>;
  auditExports: Client<typeof ExportService>;
  auditReports: Client<typeof ReportService>;
  auditRetention: Client<typeof RetentionService>;
  auditStreams: Client<typeof StreamService>;
  auditProof: Client<typeof AuditProofService>;
  deviceLogs: Client<typeof DeviceLogService>;
  liveLogs: Client<typeof LiveLogService>;
  releases: Client<typeof ReleaseService>;
  rollouts: Client<typeof RolloutService>;
  updateSettings: Client<typeof SettingsService>;
  updates: Client<typeof UpdateService>;
  /** What heartbeats ask, over connections of its own: no call of a person holds it up. */
  decisions: Client<typeof UpdateService>;
  downloads: Client<typeof DownloadService>;
  probes: Record<ServiceName, Client<typeof ProbeService>>;
};

/** One transport per service; `edge` to identity, `live` to device-logs, `decisions` and `downloads` to agent-release are apart, so that slow calls hold nobody else up. */
export type TransportName = ServiceName | "edge" | "live" | "decisions" | "downloads";

/** Typed clients over their transports. */
export function createServices(transports: Record<TransportName, Transport>): Services {
  const probes = serviceNames.map((name) => [name, createClient(ProbeService, transports[name])] as const);
  return {
    sessions: createClient(SessionService, transports.identity),
    mfa: createClient(MfaService, transports.identity),
    passkeys: createClient(PasskeyService, transports.identity),
    account: createClient(AccountService, transports.identity),
    users: createClient(UserService, transports.identity),
    roles: createClient(RoleService, transports.identity),
    refusals: createClient(RefusalService, transports.identity),
    ssoProviders: createClient(SsoProviderService, transports.identity),
    ssoLogins: createClient(SsoLoginService, transports.identity),
    ssoLinks: createClient(SsoLinkService, transports.identity),
    ssoDomains: createClient(SsoDomainService, transports.identity),
    branding: createClient(BrandingService, transports.identity),
    admission: createClient(SessionService, transports.edge),
    edge: createClient(EdgeService, transports.edge),
    apiKeys: createClient(ApiKeyService, transports.identity),
    enrollmentKeys: createClient(EnrollmentKeyService, transports.identity),
    servicePrincipals: createClient(ServicePrincipalService, transports.identity),
    partners: createClient(PartnerService, transports.tenancy),
    organizations: createClient(OrganizationService, transports.tenancy),
    sites: createClient(SiteService, transports.tenancy),
    agents: createClient(AgentService, transports.identity),
    devices: createClient(DeviceService, transports.tenancy),
    presence: createClient(PresenceService, transports.tenancy),
    deviceGroups: createClient(DeviceGroupService, transports.tenancy),
    auditLogs: createClient(AuditLogService, transports.audit),
    webhooks: createClient(WebhookService, transports["webhook-dispatcher"]),
    deliveries: createClient(DeliveryService, transports["webhook-dispatcher"]),
    events: createClient(EventService, transports["webhook-dispatcher"]),
    replays: createClient(ReplayService, transports["webhook-dispatcher"]),
    auditExports: createClient(ExportService, transports.audit),
    auditReports: createClient(ReportService, transports.audit),
    auditRetention: createClient(RetentionService, transports.audit),
    auditStreams: createClient(StreamService, transports.audit),
    auditProof: createClient(AuditProofService, transports.audit),
    deviceLogs: createClient(DeviceLogService, transports["device-logs"]),
    liveLogs: createClient(LiveLogService, transports.live),
    releases: createClient(ReleaseService, transports["agent-release"]),
    rollouts: createClient(RolloutService, transports["agent-release"]),
    updateSettings: createClient(SettingsService, transports["agent-release"]),
    updates: createClient(UpdateService, transports["agent-release"]),
    decisions: createClient(UpdateService, transports.decisions),
    downloads: createClient(DownloadService, transports.downloads),
    probes: Object.fromEntries(probes) as Services["probes"],
  };
}
