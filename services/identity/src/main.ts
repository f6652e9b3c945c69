import { AttentionService } from "@muster/proto/muster/common/v1/attention_pb";
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
import { register } from "@muster/rpc";
import { attentionService, requestPurge, runService, startPurges } from "@muster/service";
import { mailDelivery } from "./clients/mail-delivery.ts";
import { migrations, settings, version } from "./config.ts";
import { identityDeps } from "./deps.ts";
import { followDevices } from "./events/devices.ts";
import { announceTenant } from "./events/tenants.ts";
import { bootstrapAdministrator } from "./jobs/bootstrap.ts";
import { startEdgeCleanup } from "./jobs/edge-cleanup.ts";
import { startHealthGauges } from "./jobs/health-gauges.ts";
import { startNotifications } from "./jobs/notifications.ts";
import { startPendingRoles } from "./jobs/pending-roles.ts";
import { startMail } from "./jobs/send-mail.ts";
import { startSessionCleanup } from "./jobs/session-cleanup.ts";
import { startSsoCleanup } from "./jobs/sso-cleanup.ts";
import { startSweeping } from "./jobs/sweep-reservations.ts";
import { accountService } from "./rpc/account.ts";
import { agentService } from "./rpc/agent.ts";
import { apiKeyService } from "./rpc/api-key.ts";
import { identityAttention } from "./rpc/attention.ts";
import { brandingService } from "./rpc/branding.ts";
import { deviceAuthorizationService } from "./rpc/device-authorization.ts";
import { directoryService } from "./rpc/directory.ts";
import { edgeService } from "./rpc/edge.ts";
import { enrollmentKeyService } from "./rpc/enrollment-key.ts";
import { mfaService } from "./rpc/mfa.ts";
import { notificationService } from "./rpc/notification.ts";
import { passkeyService } from "./rpc/passkey.ts";
import { portalService } from "./rpc/portal.ts";
import { refusalService } from "./rpc/refusal.ts";
import { roleService } from "./rpc/role.ts";
import { scimService } from "./rpc/scim.ts";
import { servicePrincipalService } from "./rpc/service-principal.ts";
import { sessionService } from "./rpc/session.ts";
import { signInPolicyService } from "./rpc/sign-in-policy.ts";
import { ssoDomainService } from "./rpc/sso-domain.ts";
import { ssoLinkService } from "./rpc/sso-link.ts";
import { ssoLoginService } from "./rpc/sso-login.ts";
import { ssoProviderService } from "./rpc/sso-provider.ts";
import { userService } from "./rpc/user.ts";
import { seededRoles } from "./rules/catalogue.ts";
import { purgePlan } from "./store/purge.ts";
import { seedRoles } from "./store/roles.ts";
import { sealedColumns } from "./store/sealed-columns.ts";
import { hasSamlProvider } from "./store/sso/providers.ts";

/** A body of SCIM, of at most 8 MiB, in a message. */
const scimRequestBytes = 9 * 1024 * 1024;

await runService({
  name: "identity",
  version,
  settings,
  migrations,
  tenantCopy: { onChange: announceTenant, onDevices: followDevices, onPurged: requestPurge },
  sealed: sealedColumns,
  maxRequestBytes: scimRequestBytes,
  async start({ db, config, process, learnTenants }) {
    const { log } = process;
    const deps = identityDeps({ db, config, process, learnTenants });
    const { now, passwords, mail } = deps.users;
    await seedRoles(db, seededRoles, now());
    await bootstrapAdministrator(
      { db, passwords, log, now },
      { email: config.BOOTSTRAP_ADMIN_EMAIL, password: config.BOOTSTRAP_ADMIN_PASSWORD },
    );

    const delivery = mailDelivery(config, deps.publicUrl, log);
    const posting = startMail({ db, box: deps.mailBox, mail, delivery, log, now });
    process.onStop("mail", () => posting.stop());
    const notifications = startNotifications(deps.notifications);
    process.onStop("notifications", () => notifications.stop());
    const { devices, reservationSeconds } = deps.agents;
    const sweeping = startSweeping({ db, discard: devices.discard, reservationSeconds, log });
    process.onStop("reservation sweeper", () => sweeping.stop());
    const cleanup = startEdgeCleanup({ db, log });
    process.onStop("edge clean-up", () => cleanup.stop());
    const sessionCleanup = startSessionCleanup({ db, retentionDays: config.SESSION_RETENTION_DAYS, log, now });
    process.onStop("session clean-up", () => sessionCleanup.stop());
    if (await hasSamlProvider(db)) await prepareSaml();
    const ssoCleanup = startSsoCleanup(deps.sso);
    process.onStop("single sign-on clean-up", () => ssoCleanup.stop());
    const pendingRoles = startPendingRoles({ db, now, log });
    process.onStop("pending roles", () => pendingRoles.stop());
    const healthGauges = startHealthGauges({ db, log, now });
    process.onStop("gauges of health", () => healthGauges.stop());
    const purges = startPurges({ db, service: "identity", log, plan: purgePlan });
    process.onStop("purges", () => purges.stop());

    return [
      register(SessionService, sessionService(deps.sessions)),
      register(MfaService, mfaService(deps.factors)),
      register(PasskeyService, passkeyService(deps.passkeys)),
      register(AccountService, accountService(deps.accounts)),
      register(DeviceAuthorizationService, deviceAuthorizationService(deps.deviceAuthorizations)),
      register(UserService, userService(deps.users)),
      register(RoleService, roleService(deps.users)),
      register(SignInPolicyService, signInPolicyService(deps.users)),
      register(NotificationService, notificationService(deps.notifications)),
      register(RefusalService, refusalService(deps.users)),
      register(ApiKeyService, apiKeyService(deps.keys)),
      register(ServicePrincipalService, servicePrincipalService(deps.keys)),
      register(EnrollmentKeyService, enrollmentKeyService(deps.enrollmentKeys)),
      register(AgentService, agentService(deps.agents)),
      register(SsoProviderService, ssoProviderService(deps.sso)),
      register(SsoLoginService, ssoLoginService(deps.sso)),
      register(SsoLinkService, ssoLinkService(deps.sso)),
      register(SsoDomainService, ssoDomainService(deps.sso)),
      register(BrandingService, brandingService(deps.sso)),
      register(
        DirectoryService,
        directoryService({ ...deps.keys, directoriesPerTenant: config.DIRECTORIES_PER_TENANT }),
      ),
      register(
        PortalService,
        portalService({
          ...deps.keys,
          unknownTokens: deps.sessions.unknownTokens,
          linksPerOrganization: config.PORTAL_LINKS_PER_ORGANIZATION,
        }),
      ),
      register(ScimService, scimService(deps.directories)),
      register(AttentionService, attentionService(db, identityAttention({ now }))),
      register(EdgeService, edgeService(deps.edge)),
    ];
  },
});

/**
 * Preloads modules and schemas for sign-ins by SAML. Skipped where SAML is unused: they take 40 MB, and 0.3 s of a
 * start.
 */
async function prepareSaml(): Promise<void> {
  const { samlSchema } = await import("./crypto/saml/schemas.ts");
  samlSchema();
  await import("./crypto/saml/service-provider.ts");
}
