import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { type ServiceName, serviceNames } from "@muster/kit";
import { AlertService } from "@muster/proto/muster/audit/v1/alert_pb";
import { AppendService } from "@muster/proto/muster/audit/v1/append_pb";
import { ExportJobService } from "@muster/proto/muster/audit/v1/export_job_pb";
import { ExportService } from "@muster/proto/muster/audit/v1/export_pb";
import { AuditLogService } from "@muster/proto/muster/audit/v1/log_pb";
import { AuditProofService } from "@muster/proto/muster/audit/v1/proof_pb";
import { ReportService } from "@muster/proto/muster/audit/v1/report_pb";
import { RetentionService } from "@muster/proto/muster/audit/v1/retention_pb";
import { StreamService } from "@muster/proto/muster/audit/v1/stream_pb";
import { AttentionService } from "@muster/proto/muster/common/v1/attention_pb";
import { ProbeService } from "@muster/proto/muster/common/v1/probe_pb";
import { StatusService } from "@muster/proto/muster/common/v1/status_pb";
import { LogLimitService } from "@muster/proto/muster/devicelogs/v1/limit_pb";
import { LiveLogService } from "@muster/proto/muster/devicelogs/v1/live_pb";
import { DeviceLogService } from "@muster/proto/muster/devicelogs/v1/log_pb";
import { AccountService } from "@muster/proto/muster/identity/v1/account_pb";
import { AgentService } from "@muster/proto/muster/identity/v1/agent_pb";
import { ApiKeyService } from "@muster/proto/muster/identity/v1/api_key_pb";
import { BrandingService } from "@muster/proto/muster/identity/v1/branding_pb";
import { DeviceAuthorizationService } from "@muster/proto/muster/identity/v1/device_authorization_pb";
import { DirectoryService } from "@muster/proto/muster/identity/v1/directory_pb";
import { EdgeService } from "@muster/proto/muster/identity/v1/edge_pb";
import { EnrollmentKeyService } from "@muster/proto/muster/identity/v1/enrollment_key_pb";
import { MfaService } from "@muster/proto/muster/identity/v1/mfa_pb";
import { NotificationService } from "@muster/proto/muster/identity/v1/notification_pb";
import { PasskeyService } from "@muster/proto/muster/identity/v1/passkey_pb";
import { PortalService } from "@muster/proto/muster/identity/v1/portal_pb";
import { RefusalService } from "@muster/proto/muster/identity/v1/refusal_pb";
import { RoleService } from "@muster/proto/muster/identity/v1/role_pb";
import { ScimService } from "@muster/proto/muster/identity/v1/scim_pb";
import { ServicePrincipalService } from "@muster/proto/muster/identity/v1/service_principal_pb";
import { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { SignInPolicyService } from "@muster/proto/muster/identity/v1/sign_in_policy_pb";
import { SsoDomainService } from "@muster/proto/muster/identity/v1/sso_domain_pb";
import { SsoLinkService } from "@muster/proto/muster/identity/v1/sso_link_pb";
import { SsoLoginService } from "@muster/proto/muster/identity/v1/sso_login_pb";
import { SsoProviderService } from "@muster/proto/muster/identity/v1/sso_provider_pb";
import { UserService } from "@muster/proto/muster/identity/v1/user_pb";
import { DownloadService } from "@muster/proto/muster/release/v1/download_pb";
import { ReleaseService } from "@muster/proto/muster/release/v1/release_pb";
import { RolloutService } from "@muster/proto/muster/release/v1/rollout_pb";
import { SettingsService } from "@muster/proto/muster/release/v1/settings_pb";
import { RolloutTemplateService } from "@muster/proto/muster/release/v1/template_pb";
import { UpdateService } from "@muster/proto/muster/release/v1/update_pb";
import { DeviceBulkJobService } from "@muster/proto/muster/tenancy/v1/bulk_job_pb";
import { DeviceGroupService, DeviceService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { MetricService } from "@muster/proto/muster/tenancy/v1/metric_pb";
import { NameService } from "@muster/proto/muster/tenancy/v1/name_pb";
import { OrganizationService } from "@muster/proto/muster/tenancy/v1/organization_pb";
import { PartnerService } from "@muster/proto/muster/tenancy/v1/partner_pb";
import { PresenceService } from "@muster/proto/muster/tenancy/v1/presence_pb";
import { SavedViewService } from "@muster/proto/muster/tenancy/v1/saved_view_pb";
import { SiteService } from "@muster/proto/muster/tenancy/v1/site_pb";
import { DeliveryService } from "@muster/proto/muster/webhook/v1/delivery_pb";
import { EventService } from "@muster/proto/muster/webhook/v1/event_pb";
import { EventTypeService } from "@muster/proto/muster/webhook/v1/event_type_pb";
import { ReplayService } from "@muster/proto/muster/webhook/v1/replay_pb";
import { WebhookService } from "@muster/proto/muster/webhook/v1/webhook_pb";

/** One transport per service; other uses have separate ones, so that slow calls do not delay them. */
export type TransportName = ServiceName | "edge" | "agentTokens" | "live" | "decisions" | "downloads";

/** Each client that handlers have, and the transport that carries its calls. */
const clients = {
  sessions: [SessionService, "identity"],
  mfa: [MfaService, "identity"],
  passkeys: [PasskeyService, "identity"],
  account: [AccountService, "identity"],
  notifications: [NotificationService, "identity"],
  deviceAuthorizations: [DeviceAuthorizationService, "identity"],
  users: [UserService, "identity"],
  roles: [RoleService, "identity"],
  signInPolicies: [SignInPolicyService, "identity"],
  refusals: [RefusalService, "identity"],
  ssoProviders: [SsoProviderService, "identity"],
  ssoLogins: [SsoLoginService, "identity"],
  ssoLinks: [SsoLinkService, "identity"],
  ssoDomains: [SsoDomainService, "identity"],
  branding: [BrandingService, "identity"],
  directories: [DirectoryService, "identity"],
  scim: [ScimService, "identity"],
  portals: [PortalService, "identity"],
  /** The gateway's own calls for admission, over separate connections: slow calls of clients never delay them. */
  admission: [SessionService, "edge"],
  portalAdmission: [PortalService, "edge"],
  edge: [EdgeService, "edge"],
  /**
   * Tokens of agents: a new one waits until all gateways acknowledge it, over the connections of `edge`, which such
   * calls must not use up.
   */
  agentTokens: [EdgeService, "agentTokens"],
  apiKeys: [ApiKeyService, "identity"],
  enrollmentKeys: [EnrollmentKeyService, "identity"],
  servicePrincipals: [ServicePrincipalService, "identity"],
  partners: [PartnerService, "tenancy"],
  organizations: [OrganizationService, "tenancy"],
  bulkJobs: [DeviceBulkJobService, "tenancy"],
  savedViews: [SavedViewService, "tenancy"],
  metrics: [MetricService, "tenancy"],
  sites: [SiteService, "tenancy"],
  names: [NameService, "tenancy"],
  agents: [AgentService, "identity"],
  devices: [DeviceService, "tenancy"],
  presence: [PresenceService, "tenancy"],
  deviceGroups: [DeviceGroupService, "tenancy"],
  auditAlerts: [AlertService, "audit"],
  auditLogs: [AuditLogService, "audit"],
  webhooks: [WebhookService, "webhook-dispatcher"],
  eventTypes: [EventTypeService, "webhook-dispatcher"],
  deliveries: [DeliveryService, "webhook-dispatcher"],
  events: [EventService, "webhook-dispatcher"],
  replays: [ReplayService, "webhook-dispatcher"],
  auditExports: [ExportService, "audit"],
  auditExportJobs: [ExportJobService, "audit"],
  auditReports: [ReportService, "audit"],
  auditRetention: [RetentionService, "audit"],
  auditAppends: [AppendService, "audit"],
  auditStreams: [StreamService, "audit"],
  auditProof: [AuditProofService, "audit"],
  deviceLogs: [DeviceLogService, "device-logs"],
  logLimits: [LogLimitService, "device-logs"],
  liveLogs: [LiveLogService, "live"],
  releases: [ReleaseService, "agent-release"],
  rollouts: [RolloutService, "agent-release"],
  rolloutTemplates: [RolloutTemplateService, "agent-release"],
  updateSettings: [SettingsService, "agent-release"],
  updates: [UpdateService, "agent-release"],
  /** Calls for heartbeats, over separate connections: users' calls do not delay them. */
  decisions: [UpdateService, "decisions"],
  downloads: [DownloadService, "downloads"],
} as const satisfies Record<string, readonly [DescService, TransportName]>;

export type Services = { [Name in keyof typeof clients]: Client<(typeof clients)[Name][0]> } & {
  /** Queries a service's name and version. */
  probes: Record<ServiceName, Client<typeof ProbeService>>;
  /** Queries a service's state, for platform operators. */
  statuses: Record<ServiceName, Client<typeof StatusService>>;
  /** What needs attention, of the services that hold such records. */
  attention: Record<AttentionSourceName, Client<typeof AttentionService>>;
};

/** Services with records that may need attention. */
export const attentionSources = [
  "tenancy",
  "identity",
  "audit",
  "webhook-dispatcher",
  "agent-release",
] as const satisfies ServiceName[];
export type AttentionSourceName = (typeof attentionSources)[number];

/** Typed clients over their transports. */
export function createServices(transports: Record<TransportName, Transport>): Services {
  const entries = Object.entries(clients).map(([name, [service, transport]]) => {
    return [name, createClient<DescService>(service, transports[transport])];
  });
  const probes = serviceNames.map((name) => [name, createClient(ProbeService, transports[name])]);
  const statuses = serviceNames.map((name) => [name, createClient(StatusService, transports[name])]);
  const attention = attentionSources.map((name) => [name, createClient(AttentionService, transports[name])]);
  return {
    ...Object.fromEntries(entries),
    probes: Object.fromEntries(probes),
    statuses: Object.fromEntries(statuses),
    attention: Object.fromEntries(attention),
  };
}
