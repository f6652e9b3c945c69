// The endpoints of the interface document, row by row, and those that 01-conventions adds: what the route table is checked against.
import type { KeyScope, Permission, Scope } from "@muster/kit";

export type Auth = "session" | "any" | "optional" | "none" | "agent";

export type InterfaceRow = {
  method: string;
  /** Below /api/v1, or `{base}/…` for the root. Parameters as `:name`; their names do not matter. */
  path: string;
  auth: Auth;
  permission: Permission | null;
  mfa: boolean;
  /** Caller scopes that may call it; all three when the document names none. */
  scopes: readonly Scope[];
  /** Scopes of which an API key needs one; null where keys are refused, or need none. */
  keyScopes: readonly KeyScope[] | null;
  /** The issue that serves it; null for parts whose issue is not written yet. */
  issue: number | null;
};

type Needs = Partial<Pick<InterfaceRow, "permission" | "mfa" | "scopes" | "auth">>;

const everyone: readonly Scope[] = ["organization", "partner", "system"];

/** Reads lines `METHOD path`; what they need is the same for all of them. */
function rows(issue: number | null, needs: Needs, lines: string): InterfaceRow[] {
  return lines
    .trim()
    .split("\n")
    .map((line) => {
      const [method = "", path = ""] = line.trim().split(/\s+/);
      const row = {
        method,
        path,
        auth: "session" as const,
        permission: null,
        mfa: false,
        scopes: everyone,
        issue,
        ...needs,
      };
      const keyScope = row.auth === "session" && !row.mfa ? keyScopeOf(method, path) : null;
      return { ...row, keyScopes: keyScope === null ? null : [keyScope] };
    });
}

/** What 01-conventions ("Who may call what") says of keys. */
function keyScopeOf(method: string, path: string): KeyScope | null {
  const verb = method === "GET" ? "read" : "write";
  if (/^\/orgs\/(partners|organizations\/order)/.test(path)) return null;
  if (path.startsWith("/orgs/sites")) return `sites:${verb}`;
  if (path.startsWith("/orgs")) return `organizations:${verb}`;
  if (/^\/audit-logs(\/(logs|search|export|reports|verify|checkpoints).*)?$/.test(path)) return "audit:read";
  if (/^\/(devices|system-tools)\/.*logs/.test(path)) return "logs:read";
  if (/^\/device(s|-groups)/.test(path)) return `devices:${verb}`;
  if (path.startsWith("/webhooks")) return `webhooks:${verb}`;
  return path === "/events" ? "events:write" : null;
}

const read: Needs = { permission: "organizations:read" };
const write: Needs = { permission: "organizations:write" };
const writeMfa: Needs = { ...write, mfa: true };
const system: readonly Scope[] = ["system"];
const partner: readonly Scope[] = ["partner"];
const above: readonly Scope[] = ["partner", "system"];
const open: Needs = { auth: "none" };

/** Every row of every endpoint table of the interface. */
export const interfaceRows: readonly InterfaceRow[] = [
  ...rows(
    4,
    read,
    `
    GET /api-keys
    GET /api-keys/:id
    GET /service-principals
    GET /service-principals/:id
    GET /enrollment-keys
    GET /enrollment-keys/:id`,
  ),
  ...rows(
    4,
    writeMfa,
    `
    POST /api-keys
    PATCH /api-keys/:id
    DELETE /api-keys/:id
    POST /api-keys/:id/rotate
    POST /service-principals
    POST /service-principals/:id/rotate
    POST /service-principals/:id/disable
    POST /service-principals/:id/migrate-key
    POST /enrollment-keys
    POST /enrollment-keys/:id/rotate
    DELETE /enrollment-keys/:id`,
  ),
  ...rows(
    null,
    read,
    `
    GET /sso/presets
    GET /sso/providers
    GET /sso/providers/:id`,
  ),
  ...rows(
    null,
    writeMfa,
    `
    POST /sso/providers
    PATCH /sso/providers/:id
    DELETE /sso/providers/:id
    POST /sso/providers/:id/status
    POST /sso/providers/:id/test`,
  ),
  ...rows(
    null,
    open,
    `
    GET /sso/check/:orgId
    GET /sso/login/:orgId
    GET /sso/login/partner/:partnerId
    GET /auth/login-context
    GET /sso/callback
    POST /sso/exchange`,
  ),
  ...rows(null, { scopes: partner }, "GET /partners/me/login-branding"),
  ...rows(null, { scopes: partner, permission: "partner:policy" }, "PUT /partners/me/login-branding"),
  ...rows(
    2,
    { ...read, scopes: system },
    `
    GET /orgs/partners
    GET /orgs/partners/:id`,
  ),
  ...rows(2, { ...write, scopes: system }, "POST /orgs/partners"),
  ...rows(
    3,
    { ...write, scopes: system },
    `
    PATCH /orgs/partners/:id
    DELETE /orgs/partners/:id`,
  ),
  ...rows(3, { ...read, scopes: partner }, "GET /orgs/partners/me"),
  ...rows(3, { permission: "partner:policy", scopes: partner }, "PATCH /orgs/partners/me"),
  ...rows(3, { ...write, scopes: partner }, "PATCH /orgs/organizations/order"),
  ...rows(
    3,
    { ...read, scopes: above },
    `
    GET /orgs/organizations
    GET /orgs/organizations/:id`,
  ),
  ...rows(
    3,
    { ...write, scopes: above },
    `
    POST /orgs/organizations
    PATCH /orgs/organizations/:id
    DELETE /orgs/organizations/:id`,
  ),
  ...rows(
    3,
    read,
    `
    GET /orgs/
    GET /orgs/sites
    GET /orgs/sites/:id`,
  ),
  ...rows(
    3,
    write,
    `
    POST /orgs/sites
    PATCH /orgs/sites/:id
    DELETE /orgs/sites/:id`,
  ),
  ...rows(
    2,
    { permission: "audit:read" },
    `
    GET /audit-logs/logs
    GET /audit-logs/logs/:id`,
  ),
  ...rows(
    3,
    { permission: "audit:read" },
    `
    GET /audit-logs
    GET /audit-logs/search`,
  ),
  ...rows(
    7,
    { auth: "agent" },
    `
    POST /agents/:id/logs
    PUT /agents/:id/eventlogs`,
  ),
  ...rows(
    7,
    { permission: "devices:read" },
    `
    GET /devices/:id/diagnostic-logs
    GET /devices/:id/eventlogs
    GET /system-tools/devices/:deviceId/eventlogs
    GET /system-tools/devices/:deviceId/eventlogs/:name
    GET /system-tools/devices/:deviceId/eventlogs/:name/events
    GET /system-tools/devices/:deviceId/eventlogs/:name/events/:recordId`,
  ),
  ...rows(
    8,
    { permission: "webhooks:read" },
    `
    GET /webhooks
    GET /webhooks/:id
    GET /webhooks/:id/deliveries`,
  ),
  ...rows(
    8,
    { permission: "webhooks:write" },
    `
    POST /webhooks
    PATCH /webhooks/:id
    DELETE /webhooks/:id
    POST /webhooks/:id/test
    POST /webhooks/:id/retry/:deliveryId`,
  ),
  ...rows(3, { permission: "devices:write" }, "POST /devices/:id/auto-update"),
  ...rows(null, { permission: "platform:admin", mfa: true }, "POST /agent-versions/promote"),
  ...rows(null, { permission: "platform:admin", mfa: true, scopes: system }, "POST /agent-versions/sync-:source"),
  ...rows(2, open, "GET {base}/health"),
];

/** Routes that 01-conventions and the design add. */
export const additionalRows: readonly InterfaceRow[] = [
  ...rows(7, open, "POST /agents/enroll"),
  ...rows(
    7,
    { auth: "agent" },
    `
    GET /agents/:id/channel
    POST /agents/:id/heartbeat
    POST /agents/:id/rotate-token`,
  ),
  ...rows(7, { permission: "devices:write" }, "POST /devices/:id/approve"),
  ...rows(
    7,
    { permission: "devices:read" },
    `
    GET /devices/:id/system-tools/eventlogs
    GET /devices/:id/system-tools/eventlogs/:name
    GET /devices/:id/system-tools/eventlogs/:name/events
    GET /devices/:id/system-tools/eventlogs/:name/events/:recordId
    GET /devices/:id/eventlogs/:name
    GET /devices/:id/eventlogs/:name/events
    GET /devices/:id/eventlogs/:name/events/:recordId`,
  ),
  ...rows(
    2,
    open,
    `
    POST /auth/login
    POST /auth/refresh
    GET /openapi.json
    GET {base}/.well-known/jwks.json`,
  ),
  ...rows(
    2,
    {},
    `
    POST /auth/logout`,
  ),
  ...rows(2, { auth: "any" }, "GET /auth/me"),
  ...rows(3, { auth: "optional" }, "POST /auth/mfa/verify"),
  ...rows(3, open, "POST /auth/accept-invite"),
  ...rows(
    3,
    {},
    `
    POST /auth/mfa/totp/setup
    POST /auth/mfa/totp/enable
    POST /auth/mfa/totp/disable`,
  ),
  ...rows(
    3,
    { permission: "users:read" },
    `
    GET /users
    GET /users/:id`,
  ),
  ...rows(3, { permission: "users:write", mfa: true }, "POST /users"),
  ...rows(
    5,
    { permission: "users:write", mfa: true },
    `
    PATCH /users/:id
    POST /users/:id/disable
    POST /users/:id/enable
    POST /users/:id/invite
    DELETE /users/:id`,
  ),
  ...rows(
    3,
    { permission: "roles:read" },
    `
    GET /roles
    GET /permissions`,
  ),
  ...rows(5, { permission: "roles:read" }, "GET /roles/:id"),
  ...rows(
    5,
    { permission: "roles:write", mfa: true },
    `
    POST /roles
    PATCH /roles/:id
    DELETE /roles/:id`,
  ),
  ...rows(4, { ...writeMfa, scopes: above }, "POST /orgs/organizations/:id/revoke-credentials"),
  ...rows(4, { ...writeMfa, scopes: system }, "POST /orgs/partners/:id/revoke-credentials"),
  ...rows(
    5,
    {},
    `
    GET /auth/sessions
    DELETE /auth/sessions
    DELETE /auth/sessions/:id
    POST /auth/change-password
    POST /auth/mfa/passkeys/register/options
    POST /auth/mfa/passkeys/register/verify
    GET /auth/mfa/passkeys
    PATCH /auth/mfa/passkeys/:id`,
  ),
  ...rows(5, { mfa: true }, "DELETE /auth/mfa/passkeys/:id"),
  ...rows(
    5,
    { auth: "optional" },
    `
    POST /auth/mfa/passkeys/authenticate/options
    POST /auth/mfa/passkeys/authenticate/verify`,
  ),
  ...rows(
    5,
    open,
    `
    POST /auth/forgot-password
    POST /auth/reset-password`,
  ),
  ...rows(6, { permission: "audit:export" }, "GET /audit-logs/export"),
  ...rows(
    6,
    { permission: "audit:read" },
    `
    GET /audit-logs/reports/categories
    GET /audit-logs/reports/user-activity
    GET /audit-logs/reports/security-events
    GET /audit-logs/reports/compliance`,
  ),
  ...rows(6, { permission: "audit:write" }, "GET /audit-logs/retention"),
  ...rows(6, { permission: "audit:write", mfa: true }, "PATCH /audit-logs/retention"),
  ...rows(
    8,
    { permission: "audit:write" },
    `
    GET /audit-logs/streams
    GET /audit-logs/streams/:id`,
  ),
  ...rows(
    8,
    { permission: "audit:write", mfa: true },
    `
    POST /audit-logs/streams
    PATCH /audit-logs/streams/:id
    DELETE /audit-logs/streams/:id`,
  ),
  ...rows(
    6,
    { permission: "audit:read" },
    `
    POST /audit-logs/verify
    GET /audit-logs/verify/:id
    GET /audit-logs/checkpoints`,
  ),
  ...rows(
    3,
    { permission: "devices:read" },
    `
    GET /devices
    GET /devices/:id
    GET /device-groups
    GET /device-groups/:id`,
  ),
  ...rows(
    3,
    { permission: "devices:write" },
    `
    PATCH /devices/:id
    POST /device-groups
    PATCH /device-groups/:id
    POST /device-groups/:id/devices
    DELETE /device-groups/:id/devices
    DELETE /device-groups/:id/devices/:deviceId`,
  ),
  ...rows(
    3,
    { permission: "devices:delete" },
    `
    DELETE /devices/:id
    DELETE /device-groups/:id`,
  ),
  ...rows(
    8,
    { permission: "webhooks:read" },
    `
    GET /webhooks/event-types
    GET /webhooks/:id/deliveries/:deliveryId
    GET /webhooks/:id/replays
    GET /webhooks/:id/replays/:replayId
    GET /webhooks/dead-letters`,
  ),
  ...rows(
    8,
    { permission: "webhooks:write" },
    `
    POST /webhooks/:id/rotate-secret
    POST /webhooks/:id/replay
    DELETE /webhooks/:id/replays/:replayId
    POST /webhooks/dead-letters/:id/requeue`,
  ),
  ...rows(8, { permission: "events:write" }, "POST /events"),
];
