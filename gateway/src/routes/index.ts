import type { Route } from "../route/route.ts";
import { auditAlertRoutes } from "./audit/alerts.ts";
import { auditLogRoutes } from "./audit/audit-logs.ts";
import { auditEventRoutes } from "./audit/events.ts";
import { auditExportRoutes } from "./audit/export.ts";
import { auditExportJobRoutes } from "./audit/exports.ts";
import { auditProofRoutes } from "./audit/proof.ts";
import { auditReportRoutes } from "./audit/reports.ts";
import { auditRetentionRoutes } from "./audit/retention.ts";
import { auditStreamRoutes } from "./audit/streams.ts";
import { agentLogRoutes } from "./devices/agent-logs.ts";
import { agentOtlpRoutes } from "./devices/agent-otlp.ts";
import { agentRoutes } from "./devices/agents.ts";
import { bulkJobRoutes } from "./devices/bulk-jobs.ts";
import { deviceChangeRoutes } from "./devices/device-changes.ts";
import { deviceGroupRoutes } from "./devices/device-groups.ts";
import { deviceLogRoutes } from "./devices/device-logs.ts";
import { deviceMetricRoutes } from "./devices/device-metrics.ts";
import { deviceRoutes } from "./devices/devices.ts";
import { deviceBulkRoutes } from "./devices/devices-bulk.ts";
import { liveLogRoutes } from "./devices/live-logs.ts";
import { logLimitRoutes } from "./devices/log-limits.ts";
import { directoryRoutes } from "./directory/directories.ts";
import { roleMappingRoutes } from "./directory/role-mappings.ts";
import { scimRoutes } from "./directory/scim.ts";
import { apiKeyRoutes } from "./keys/api-keys.ts";
import { enrollmentKeyRoutes } from "./keys/enrollment-keys.ts";
import { servicePrincipalRoutes } from "./keys/service-principals.ts";
import { tenantCredentialRoutes } from "./keys/tenant-credentials.ts";
import { roleRoutes } from "./people/roles.ts";
import { signInPolicyRoutes } from "./people/sign-in-policy.ts";
import { userRoutes } from "./people/users.ts";
import { attentionRoutes } from "./platform/attention.ts";
import { nameRoutes } from "./platform/names.ts";
import { platformRoutes } from "./platform/platform.ts";
import { savedViewRoutes } from "./platform/saved-views.ts";
import { agentDownloadRoutes } from "./releases/agent-downloads.ts";
import { agentUpdateRoutes } from "./releases/agent-updates.ts";
import { agentVersionRoutes } from "./releases/agent-versions.ts";
import { deviceUpdateRoutes } from "./releases/device-updates.ts";
import { rolloutTemplateRoutes } from "./releases/rollout-templates.ts";
import { agentVersionRolloutRoutes } from "./releases/rollouts.ts";
import { accountRoutes } from "./sign-in/account.ts";
import { authRoutes } from "./sign-in/auth.ts";
import { deviceAuthorizationRoutes } from "./sign-in/device-authorization.ts";
import { mfaRoutes } from "./sign-in/mfa.ts";
import { notificationRoutes } from "./sign-in/notifications.ts";
import { passkeyRoutes } from "./sign-in/passkeys.ts";
import { brandingRoutes } from "./sso/branding.ts";
import { ssoDomainRoutes } from "./sso/domains.ts";
import { ssoLinkRoutes } from "./sso/links.ts";
import { ssoProviderTrialRoutes } from "./sso/provider-trials.ts";
import { ssoProviderRoutes } from "./sso/providers.ts";
import { ssoLoginRoutes } from "./sso/sso-login.ts";
import { organizationRoutes } from "./tenants/organizations.ts";
import { partnerRoutes } from "./tenants/partners.ts";
import { siteRoutes } from "./tenants/sites.ts";
import { webhookDeliveryRoutes } from "./webhooks/deliveries.ts";
import { eventTypeRoutes } from "./webhooks/event-types.ts";
import { eventRoutes } from "./webhooks/events.ts";
import { portalLinkRoutes } from "./webhooks/portal-links.ts";
import { webhookReplayRoutes } from "./webhooks/replays.ts";
import { storedEventRoutes } from "./webhooks/stored-events.ts";
import { webhookSignatureRoutes } from "./webhooks/webhook-signatures.ts";
import { webhookRoutes } from "./webhooks/webhooks.ts";

const rows: readonly Route[] = [
  ...authRoutes,
  ...deviceAuthorizationRoutes,
  ...mfaRoutes,
  ...passkeyRoutes,
  ...accountRoutes,
  ...notificationRoutes,
  ...tenantCredentialRoutes,
  ...userRoutes,
  ...roleRoutes,
  ...signInPolicyRoutes,
  ...ssoProviderRoutes,
  ...ssoProviderTrialRoutes,
  ...ssoLoginRoutes,
  ...ssoLinkRoutes,
  ...ssoDomainRoutes,
  ...directoryRoutes,
  ...roleMappingRoutes,
  ...scimRoutes,
  ...brandingRoutes,
  ...apiKeyRoutes,
  ...servicePrincipalRoutes,
  ...enrollmentKeyRoutes,
  ...partnerRoutes,
  ...organizationRoutes,
  ...siteRoutes,
  ...nameRoutes,
  ...attentionRoutes,
  ...agentRoutes,
  ...agentDownloadRoutes,
  ...agentVersionRoutes,
  ...agentVersionRolloutRoutes,
  ...rolloutTemplateRoutes,
  ...agentUpdateRoutes,
  ...deviceRoutes,
  ...deviceMetricRoutes,
  ...deviceBulkRoutes,
  ...bulkJobRoutes,
  ...deviceChangeRoutes,
  ...deviceUpdateRoutes,
  ...deviceGroupRoutes,
  ...agentLogRoutes,
  ...agentOtlpRoutes,
  ...logLimitRoutes,
  ...deviceLogRoutes,
  ...liveLogRoutes,
  ...auditLogRoutes,
  ...auditAlertRoutes,
  ...portalLinkRoutes,
  ...eventTypeRoutes,
  ...webhookRoutes,
  ...webhookSignatureRoutes,
  ...webhookDeliveryRoutes,
  ...webhookReplayRoutes,
  ...eventRoutes,
  ...auditEventRoutes,
  ...storedEventRoutes,
  ...auditExportRoutes,
  ...auditExportJobRoutes,
  ...auditReportRoutes,
  ...auditRetentionRoutes,
  ...auditStreamRoutes,
  ...auditProofRoutes,
  ...platformRoutes,
];

/** All routes that the gateway handles itself; the documentation pages are served by Express. */
export const routes: readonly Route[] = [...rows, ...savedViewRoutes(rows)];
