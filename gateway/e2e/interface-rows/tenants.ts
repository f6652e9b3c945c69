import { type AreaRows, above, partner, read, rows, system, write } from "./row.ts";

/** Partners, organizations and sites. */
export const tenantRows: AreaRows = {
  interface: [
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
    PATCH /orgs/sites/:id/labels
    DELETE /orgs/sites/:id`,
    ),
  ],
  additional: [
    ...rows(16, { ...read, scopes: partner }, "GET /orgs/partners/me/agent-updates"),
    ...rows(16, { permission: "partner:policy", mfa: true, scopes: partner }, "PUT /orgs/partners/me/agent-updates"),
    ...rows(16, read, "GET /orgs/organizations/:id/agent-updates"),
    ...rows(16, { ...write, mfa: true }, "PUT /orgs/organizations/:id/agent-updates"),
    ...rows(46, { ...read, scopes: partner }, "GET /orgs/partners/me/sign-in-policy"),
    ...rows(46, { permission: "partner:policy", mfa: true, scopes: partner }, "PUT /orgs/partners/me/sign-in-policy"),
    ...rows(46, read, "GET /orgs/organizations/:id/sign-in-policy"),
    ...rows(46, { ...write, mfa: true }, "PUT /orgs/organizations/:id/sign-in-policy"),
    ...rows(46, read, "GET /orgs/organizations/:id/log-limits"),
    ...rows(46, { ...write, mfa: true }, "PATCH /orgs/organizations/:id/log-limits"),
  ],
};
