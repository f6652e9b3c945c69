import { type AreaRows, above, read, rows, system, writeMfa } from "./row.ts";

/** API keys, service principals, enrollment keys, and revoking them. */
export const keyRows: AreaRows = {
  interface: [
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
  ],
  additional: [
    ...rows(4, read, "GET /api-keys/scopes"),
    ...rows(4, { ...writeMfa, scopes: above }, "POST /orgs/organizations/:id/revoke-credentials"),
    ...rows(4, { ...writeMfa, scopes: system }, "POST /orgs/partners/:id/revoke-credentials"),
  ],
};
