import { type AreaRows, rows } from "./row.ts";

/** The audit trail. */
export const auditRows: AreaRows = {
  interface: [
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
  ],
  additional: [
    ...rows(6, { permission: "audit:export" }, "GET /audit-logs/export"),
    ...rows(
      51,
      { permission: "audit:export" },
      `
    POST /audit-logs/exports
    GET /audit-logs/exports
    GET /audit-logs/exports/:id
    GET /audit-logs/exports/:id/file
    DELETE /audit-logs/exports/:id`,
    ),
    ...rows(
      6,
      { permission: "audit:read" },
      `
    GET /audit-logs/reports/categories
    GET /audit-logs/reports/user-activity
    GET /audit-logs/reports/security-events
    GET /audit-logs/reports/compliance
    GET /audit-logs/reports/sign-ins`,
    ),
    ...rows(51, { permission: "audit:append" }, "POST /audit-logs/events"),
    ...rows(
      46,
      { permission: "audit:read" },
      `
    GET /audit-logs/alerts
    GET /audit-logs/alerts/:id`,
    ),
    ...rows(
      46,
      { permission: "audit:write", mfa: true },
      `
    POST /audit-logs/alerts
    PATCH /audit-logs/alerts/:id
    DELETE /audit-logs/alerts/:id`,
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
    POST /audit-logs/streams/:id/test
    PATCH /audit-logs/streams/:id
    DELETE /audit-logs/streams/:id`,
    ),
    ...rows(
      6,
      { permission: "audit:read" },
      `
    POST /audit-logs/verify
    GET /audit-logs/verify
    GET /audit-logs/verify/:id
    GET /audit-logs/checkpoints`,
    ),
  ],
};
