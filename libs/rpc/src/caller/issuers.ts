import type { ActorType } from "@muster/kit";

export type IssuerRules = {
  /** Actor types whose tokens this issuer may mint. */
  actors: readonly ActorType[];
  /** RPCs ("package.Service/Method") that this issuer's own `system` actor opens, besides the probe. */
  systemRpcs: readonly string[];
};

/** RPCs that every issuer's `system` actor opens. */
const probeRpcs = [
  "muster.common.v1.ProbeService/Echo",
  "muster.common.v1.ProbeService/EchoStream",
  "muster.common.v1.ProbeService/GetInfo",
];

const onlyItself = (...systemRpcs: string[]): IssuerRules => ({ actors: ["system"], systemRpcs });

/** Calls to tenancy of every service with a copy of the tenants. */
const snapshotRpcs = [
  "muster.tenancy.v1.SnapshotService/GetSnapshot",
  "muster.tenancy.v1.SnapshotService/GetSnapshotHash",
];
/** Calls of the services that also look up tenants which their copy lacks. */
const copyRpcs = [...snapshotRpcs, "muster.tenancy.v1.SnapshotService/GetTenants"];

/**
 * Who may say who is calling. Only the gateway authenticates users, programs and agents, so only it issues their
 * tokens; every service acts as itself (`system`), and that opens nothing but the RPCs listed here.
 */
export const issuers: Readonly<Record<string, IssuerRules>> = {
  gateway: {
    actors: ["user", "api_key", "agent", "portal", "system"],
    // Calls that precede authentication, and the tenants' states.
    systemRpcs: [
      "muster.identity.v1.SessionService/Login",
      "muster.identity.v1.SessionService/Refresh",
      "muster.identity.v1.SessionService/ResolveSession",
      "muster.identity.v1.SessionService/GetJwks",
      "muster.identity.v1.MfaService/VerifyMfa",
      "muster.identity.v1.PasskeyService/BeginAuthentication",
      "muster.identity.v1.PasskeyService/FinishAuthentication",
      "muster.identity.v1.AccountService/ForgotPassword",
      "muster.identity.v1.AccountService/ResetPassword",
      "muster.identity.v1.DeviceAuthorizationService/BeginDeviceAuthorization",
      "muster.identity.v1.DeviceAuthorizationService/CompleteDeviceAuthorization",
      "muster.identity.v1.UserService/DescribeInvite",
      "muster.identity.v1.UserService/AcceptInvite",
      "muster.identity.v1.NotificationService/Unsubscribe",
      "muster.identity.v1.SsoLoginService/CheckSso",
      "muster.identity.v1.SsoLoginService/FindSso",
      "muster.identity.v1.SsoLoginService/BeginSsoLogin",
      "muster.identity.v1.SsoLoginService/FinishSsoLogin",
      "muster.identity.v1.SsoLoginService/ReceiveSamlResponse",
      "muster.identity.v1.SsoLoginService/GetSamlMetadata",
      "muster.identity.v1.SsoLoginService/ExchangeSsoCode",
      "muster.identity.v1.SsoLoginService/GetLoginContext",
      "muster.identity.v1.EdgeService/Heartbeat",
      "muster.identity.v1.EdgeService/Acknowledge",
      "muster.identity.v1.EdgeService/Leave",
      "muster.identity.v1.EdgeService/ResolveKeys",
      "muster.identity.v1.EdgeService/ResolveAgent",
      "muster.identity.v1.EdgeService/Reserve",
      "muster.identity.v1.EdgeService/Settle",
      "muster.identity.v1.EdgeService/GetFreshState",
      "muster.identity.v1.AgentService/Enroll",
      "muster.identity.v1.PortalService/ExchangePortalCode",
      "muster.identity.v1.PortalService/ResolvePortalSession",
      "muster.identity.v1.PortalService/GetPortalPage",
      // Of directories, whose tokens identity checks in each of them.
      "muster.identity.v1.ScimService/ResolveDirectory",
      "muster.identity.v1.ScimService/GetScimDescription",
      "muster.identity.v1.ScimService/ListScimResources",
      "muster.identity.v1.ScimService/GetScimResource",
      "muster.identity.v1.ScimService/ListScimMembers",
      "muster.identity.v1.ScimService/CreateScimResource",
      "muster.identity.v1.ScimService/ReplaceScimResource",
      "muster.identity.v1.ScimService/PatchScimResource",
      "muster.identity.v1.ScimService/DeleteScimResource",
      "muster.identity.v1.ScimService/NoteScimRefusal",
      "muster.tenancy.v1.NameService/ListTenantNames",
      "muster.tenancy.v1.PresenceService/RecordHeartbeats",
      "muster.tenancy.v1.PresenceService/RecordUpdateStates",
      "muster.release.v1.UpdateService/Decide",
      "muster.release.v1.UpdateService/ListChanges",
      "muster.release.v1.DownloadService/Locate",
      "muster.release.v1.DownloadService/Read",
      // Public keys, for whoever verifies deliveries.
      "muster.webhook.v1.WebhookService/GetPublicKeys",
      ...snapshotRpcs,
    ],
  },
  identity: onlyItself(
    ...copyRpcs,
    "muster.tenancy.v1.DeviceService/CreateDevice",
    "muster.tenancy.v1.DeviceService/DiscardDevice",
    "muster.tenancy.v1.DeviceService/ForgetEnrollmentKey",
  ),
  tenancy: onlyItself(),
  // Streams of audit rows go out where deliveries do, mails of alerts where users are.
  audit: onlyItself(
    ...copyRpcs,
    "muster.identity.v1.NotificationService/Notify",
    "muster.identity.v1.NotificationService/FindAuthor",
    "muster.webhook.v1.PushService/CheckUrl",
    "muster.webhook.v1.PushService/Push",
    "muster.webhook.v1.PushService/PushSyslog",
  ),
  "device-logs": onlyItself(...copyRpcs, "muster.tenancy.v1.SnapshotService/GetDevices"),
  "webhook-dispatcher": onlyItself(...copyRpcs, "muster.identity.v1.NotificationService/Notify"),
  "agent-release": onlyItself(
    ...copyRpcs,
    "muster.tenancy.v1.SnapshotService/GetDevices",
    "muster.tenancy.v1.SnapshotService/CountAudiences",
    "muster.tenancy.v1.PresenceService/BeginUpdates",
    "muster.tenancy.v1.PresenceService/EndUpdates",
    "muster.identity.v1.NotificationService/Notify",
  ),
};

/** RPCs that are served without a caller token. */
export const openRpcs: ReadonlySet<string> = new Set([
  "grpc.health.v1.Health/Check",
  "grpc.health.v1.Health/Watch",
  "muster.common.v1.ProbeService/Echo",
  "muster.common.v1.ProbeService/GetInfo",
]);

export function issuerRules(issuer: string): IssuerRules | undefined {
  return Object.hasOwn(issuers, issuer) ? issuers[issuer] : undefined;
}

export function mayIssue(issuer: string, actor: ActorType): boolean {
  return issuerRules(issuer)?.actors.includes(actor) ?? false;
}

/** Whether the `system` actor of `issuer` opens an RPC ("package.Service/Method"). */
export function systemOpens(issuer: string, rpc: string): boolean {
  return probeRpcs.includes(rpc) || (issuerRules(issuer)?.systemRpcs.includes(rpc) ?? false);
}
