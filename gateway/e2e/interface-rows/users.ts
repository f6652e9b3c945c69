import { type AreaRows, open, partner, read, rows, writeMfa } from "./row.ts";

/** Signing in, single sign-on, people and roles. */
export const userRows: AreaRows = {
  interface: [
    ...rows(
      15,
      read,
      `
    GET /sso/presets
    GET /sso/providers
    GET /sso/providers/:id`,
    ),
    ...rows(
      15,
      writeMfa,
      `
    POST /sso/providers
    PATCH /sso/providers/:id
    DELETE /sso/providers/:id
    POST /sso/providers/:id/status
    POST /sso/providers/:id/test`,
    ),
    ...rows(
      15,
      open,
      `
    GET /sso/check/:orgId
    GET /sso/login/:orgId
    GET /sso/login/partner/:partnerId
    GET /auth/login-context
    GET /sso/callback
    POST /sso/exchange`,
    ),
    ...rows(15, { scopes: partner }, "GET /partners/me/login-branding"),
    ...rows(15, { scopes: partner, permission: "partner:policy" }, "PUT /partners/me/login-branding"),
  ],
  additional: [
    ...rows(
      15,
      read,
      `
    GET /sso/providers/:id/attempts
    GET /sso/attempts
    GET /sso/attempts/:id
    GET /sso/domains`,
    ),
    ...rows(
      15,
      writeMfa,
      `
    POST /sso/providers/:id/keys
    POST /sso/domains
    POST /sso/domains/:id/verify
    DELETE /sso/domains/:id`,
    ),
    ...rows(
      49,
      { permission: "directory:read" },
      `
    GET /directories/presets
    GET /directories
    GET /directories/:id
    GET /directories/:id/groups
    GET /directories/:id/mappings
    GET /directories/:id/mappings/try
    GET /directories/:id/requests`,
    ),
    ...rows(
      49,
      { permission: "directory:write", mfa: true },
      `
    POST /directories
    PATCH /directories/:id
    POST /directories/:id/status
    POST /directories/:id/tokens
    DELETE /directories/:id/tokens
    DELETE /directories/:id
    PUT /directories/:id/mappings`,
    ),
    ...rows(
      49,
      { auth: "directory" },
      `
    GET /scim/v2/ServiceProviderConfig
    GET /scim/v2/ResourceTypes
    GET /scim/v2/ResourceTypes/:id
    GET /scim/v2/Schemas
    GET /scim/v2/Schemas/:id
    POST /scim/v2/.search
    POST /scim/v2/Users/.search
    POST /scim/v2/Groups/.search
    GET /scim/v2/Users
    POST /scim/v2/Users
    GET /scim/v2/Users/:id
    PUT /scim/v2/Users/:id
    PATCH /scim/v2/Users/:id
    DELETE /scim/v2/Users/:id
    GET /scim/v2/Groups
    POST /scim/v2/Groups
    GET /scim/v2/Groups/:id
    PUT /scim/v2/Groups/:id
    PATCH /scim/v2/Groups/:id
    DELETE /scim/v2/Groups/:id`,
    ),
    ...rows(15, open, "POST /sso/find"),
    ...rows(
      15,
      {},
      `
    GET /sso/link/options
    POST /sso/link/start/:providerId
    DELETE /sso/link/:providerId`,
    ),
    ...rows(
      15,
      open,
      `
    POST /sso/saml/acs
    GET /sso/saml/metadata/:providerId`,
    ),
    ...rows(
      2,
      open,
      `
    POST /auth/login
    POST /auth/refresh
    POST /auth/device
    POST /auth/device/token`,
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
    ...rows(3, open, "POST /auth/invitation"),
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
    DELETE /users/:id
    DELETE /users/:id/sessions
    DELETE /users/:id/factors`,
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
    ...rows(
      5,
      {},
      `
    POST /auth/device/lookup
    POST /auth/device/approve
    POST /auth/device/deny
    GET /auth/sessions
    DELETE /auth/sessions
    DELETE /auth/sessions/:id
    PATCH /auth/me
    GET /auth/mfa
    POST /auth/change-password
    POST /auth/mfa/passkeys/register/options
    POST /auth/mfa/passkeys/register/verify
    GET /auth/mfa/passkeys
    PATCH /auth/mfa/passkeys/:id`,
    ),
    ...rows(
      5,
      { mfa: true },
      `
    DELETE /auth/mfa/passkeys/:id
    POST /auth/mfa/recovery-codes`,
    ),
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
    POST /auth/reset-password
    POST /auth/unsubscribe`,
    ),
    ...rows(
      5,
      {},
      `
    GET /auth/notifications
    PATCH /auth/notifications`,
    ),
  ],
};
