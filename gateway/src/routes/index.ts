import type { Route } from "../route.ts";
import { accountRoutes } from "./account.ts";
import { agentDownloadRoutes } from "./agent-downloads.ts";
import { agentLogRoutes } from "./agent-logs.ts";
import { agentUpdateRoutes } from "./agent-updates.ts";
import { agentVersionRoutes } from "./agent-versions.ts";
import { agentVersionRolloutRoutes } from "./agent-versions-rollouts.ts";
import { agentRoutes } from "./agents.ts";
import { apiKeyRoutes } from "./api-keys.ts";
import { auditExportRoutes } from "./audit-export.ts";
import { auditLogRoutes } from "./audit-logs.ts";
import { auditProofRoutes } from "./audit-proof.ts";
import { auditReportRoutes } from "./audit-reports.ts";
import { auditRetentionRoutes } from "./audit-retention.ts";
import { auditStreamRoutes } from "./audit-streams.ts";
import { authRoutes } from "./auth.ts";
import { brandingRoutes } from "./branding.ts";
import { deviceChangeRoutes } from "./device-changes.ts";
import { deviceGroupRoutes } from "./device-groups.ts";
import { deviceLogRoutes } from "./device-logs.ts";
import { deviceUpdateRoutes } from "./device-updates.ts";
import { deviceRoutes } from "./devices.ts";
import { deviceBulkRoutes } from "./devices-bulk.ts";
import { enrollmentKeyRoutes } from "./enrollment-keys.ts";
import { eventRoutes } from "./events.ts";
import { liveLogRoutes } from "./live-logs.ts";
import { mfaRoutes } from "./mfa.ts";
import { nameRoutes } from "./names.ts";
import { organizationRoutes } from "./organizations.ts";
import { partnerRoutes } from "./partners.ts";
import { passkeyRoutes } from "./passkeys.ts";
import { platformRoutes } from "./platform.ts";
import { roleRoutes } from "./roles.ts";
import { servicePrincipalRoutes } from "./service-principals.ts";
import { siteRoutes } from "./sites.ts";
import { ssoDomainRoutes } from "./sso-domains.ts";
import { ssoLinkRoutes } from "./sso-links.ts";
import { ssoLoginRoutes } from "./sso-login.ts";
import { ssoProviderTrialRoutes } from "./sso-provider-trials.ts";
import { ssoProviderRoutes } from "./sso-providers.ts";
import { tenantCredentialRoutes } from "./tenant-credentials.ts";
import { userRoutes } from "./users.ts";
import { webhookDeliveryRoutes } from "./webhook-deliveries.ts";
import { webhookReplayRoutes } from "./webhook-replays.ts";
import { webhookRoutes } from "./webhooks.ts";

/** All routes that the gateway handles itself; the documentation pages are served by Express. */
export const routes: readonly Route[] = [
  ...authRoutes,
  ...mfaRoutes,
  ...passkeyRoutes,
  ...accountRoutes,
  ...tenantCredentialRoutes,
  ...userRoutes,
  ...roleRoutes,
  ...ssoProviderRoutes,
  ...ssoProviderTrialRoutes,
  ...ssoLoginRoutes,
  ...ssoLinkRoutes,
  ...ssoDomainRoutes,
  ...brandingRoutes,
  ...apiKeyRoutes,
  ...servicePrincipalRoutes,
  ...enrollmentKeyRoutes,
  ...partnerRoutes,
  ...organizationRoutes,
  ...siteRoutes,
  ...nameRoutes,
  ...agentRoutes,
  ...agentDownloadRoutes,
  ...agentVersionRoutes,
  ...agentVersionRolloutRoutes,
  ...agentUpdateRoutes,
  ...deviceRoutes,
  ...deviceBulkRoutes,
  ...deviceChangeRoutes,
  ...deviceUpdateRoutes,
  ...deviceGroupRoutes,
  ...agentLogRoutes,
  ...deviceLogRoutes,
  ...liveLogRoutes,
  ...auditLogRoutes,
  ...webhookRoutes,
  ...webhookDeliveryRoutes,
  ...webhookReplayRoutes,
  ...eventRoutes,
  ...auditExportRoutes,
  ...auditReportRoutes,
  ...auditRetentionRoutes,
  ...auditStreamRoutes,
  ...auditProofRoutes,
  ...platformRoutes,
];
